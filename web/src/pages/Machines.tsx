/** The state machines of jobs, tasks and workers, with what is in their states now. */

import { useMemo } from 'preact/hooks';
import { api } from '../api/client';
import type { Machine } from '../api/types';
import { Icon, Mark } from '../components/Icon';
import { Panel } from '../components/Panel';
import { ErrorState, Skeleton } from '../components/States';
import { Tabs } from '../components/Tabs';
import { count } from '../format';
import { useResource } from '../live/resource';
import { hrefOf, query, setQuery } from '../router';
import type { PageProps } from '../routes';
import { isAdmin } from '../session';
import { toneOf, wordsOf } from '../status';
import '../styles/machines.css';
import { drawMachine, NODE, type Edge } from './machines/shape';

interface Count {
  count: number;
  capped: boolean;
}

const TITLES: Record<string, string> = { job: 'Job', task: 'Task', worker: 'Worker' };

export default function Machines(_: PageProps) {
  const machines = useResource(() => ({ load: (signal) => api.get('/api/v1/machines', { signal }), matters: () => false }), []);
  const overview = useResource(() => ({ load: (signal) => api.get('/api/v1/overview', { signal }), matters: (batch) => batch.events.length > 0, every: 4000 }), []);
  const found = machines.value.value;
  if (!found) return machines.error.value ? <ErrorState error={machines.error.value} retry={() => machines.reload()} /> : <Skeleton lines={8} />;
  const shown = found.find((each) => each.entity === query.value.get('machine')) ?? found[0];
  if (!shown) return null;
  const at = overview.value.value;
  const counts: Record<string, Record<string, Count>> = {
    job: at?.jobs ?? {},
    task: at ? (((at as { tasks?: Record<string, Count> }).tasks) ?? tasksOf(at)) : {},
    worker: Object.fromEntries(Object.entries(at?.slots?.workers ?? {}).map(([state, workers]) => [state, { count: workers, capped: false }])),
  };
  return (
    <div class="stack">
      <Tabs label="State machines" tabs={found.map((each) => ({ id: each.entity, label: TITLES[each.entity] ?? each.entity }))} current={shown.entity} onSelect={(machine) => setQuery({ machine, state: undefined })} />
      <Chart key={shown.entity} machine={shown} counts={counts[shown.entity] ?? {}} isCounted={at !== undefined} />
    </div>
  );
}

function tasksOf(at: { pipelines: readonly { ready: Count; running: Count }[] }): Record<string, Count> {
  const sum = (name: 'ready' | 'running'): Count => ({ count: at.pipelines.reduce((total, each) => total + each[name].count, 0), capped: at.pipelines.some((each) => each[name].capped) });
  return { ready: sum('ready'), running: sum('running') };
}

function Chart({ machine, counts, isCounted }: { machine: Machine; counts: Record<string, Count>; isCounted: boolean }) {
  const drawing = useMemo(() => drawMachine(machine.entity, machine.states, machine.transitions), [machine]);
  const selected = query.value.get('state');
  const group = drawing.group;
  const own = (name: string) => name === selected || (group?.name === name && selected !== null && group.states.includes(selected));
  const emphasis = (edge: Edge) => (selected === null ? 'none' : own(edge.from) ? 'out' : own(edge.to) ? 'in' : 'dim');
  const groupCount = group?.states.reduce((sum, state) => sum + (counts[state]?.count ?? 0), 0) ?? 0;
  return (
    <>
      <Panel title={`States of a ${machine.entity}`} isFlush actions={<span class="muted small">Choose a state to see where it leads.</span>}>
        <div class="machine-scroll" tabIndex={0} role="group" aria-label={`State diagram of a ${machine.entity}`}>
          <svg class="machine" viewBox={`0 0 ${drawing.width} ${drawing.height}`} style={{ maxWidth: `${drawing.width}px`, minWidth: `${Math.min(drawing.width, 880)}px` }} role="presentation">
            <defs>
              {(['none', 'out', 'in', 'dim'] as const).map((kind) => (
                <marker key={kind} id={`arrow-${kind}`} class="machine-arrow" data-emphasis={kind} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
                  <path d="M0 0.8 7 4 0 7.2z" />
                </marker>
              ))}
            </defs>
            {group && (
              <g class="machine-group">
                <rect x={group.x} y={group.y} width={group.width} height={group.height} rx="10" />
                <text x={group.x + 12} y={group.y + 16}>
                  {group.name}
                  {groupCount > 0 && `: ${count(groupCount)}`}
                </text>
              </g>
            )}
            {drawing.edges.map((edge) => (
              <path key={`${edge.from}>${edge.to}`} class="machine-edge" data-emphasis={emphasis(edge)} d={edge.path} marker-end={`url(#arrow-${emphasis(edge)})`}>
                <title>{`${wordsOf(edge.from)} to ${wordsOf(edge.to)}: ${edge.actors.join(', ')}`}</title>
              </path>
            ))}
            {machine.states.map((state) => {
              const box = drawing.nodes.get(state);
              const value = counts[state];
              if (!box) return null;
              const select = () => setQuery({ state: selected === state ? undefined : state });
              return (
                <g
                  key={state}
                  class={`machine-state tone-${toneOf(state)}`}
                  data-state={state}
                  data-terminal={machine.terminal.includes(state)}
                  data-selected={selected === state}
                  transform={`translate(${box.x} ${box.y})`}
                  role="button"
                  tabIndex={0}
                  aria-pressed={selected === state}
                  onClick={select}
                  onKeyDown={(event) => {
                    if (event.key !== 'Enter' && event.key !== ' ') return;
                    event.preventDefault();
                    select();
                  }}
                >
                  <rect width={NODE.width} height={NODE.height} rx="7" />
                  {machine.terminal.includes(state) && <rect class="machine-inner" x="3" y="3" width={NODE.width - 6} height={NODE.height - 6} rx="5" />}
                  <g transform="translate(10 8)">
                    <Mark tone={toneOf(state)} />
                  </g>
                  <text class="machine-name" x="30" y="19">
                    {wordsOf(state)}{' '}
                  </text>
                  <text class="machine-count" x="30" y="35">
                    {value ? count(value.count, value.capped) : isCounted ? '' : '…'}
                  </text>
                  {machine.initial_states.includes(state) && <circle class="machine-start" cx="-9" cy={NODE.height / 2} r="4" />}
                </g>
              );
            })}
          </svg>
        </div>
        <p class="machine-legend muted small">
          <span>● a first state</span>
          <span>double border: nothing follows</span>
          {group && <span>an arrow at the group “{group.name}” holds for each of its states; states of it may be skipped</span>}
        </p>
      </Panel>
      <Transitions machine={machine} selected={selected} counts={counts} />
    </>
  );
}

function Transitions({ machine, selected, counts }: { machine: Machine; selected: string | null; counts: Record<string, Count> }) {
  const shown = selected === null ? machine.transitions : machine.transitions.filter((each) => each.from === selected || each.to === selected);
  const list = selected !== null ? listOf(machine.entity, selected) : null;
  return (
    <Panel
      title={selected === null ? `${machine.transitions.length} transitions` : `Transitions of ${wordsOf(selected)}`}
      isFlush
      actions={
        selected !== null && (
          <>
            {list && (
              <a class="button small" href={list}>
                {counts[selected] ? `Show the ${count(counts[selected]?.count ?? 0, counts[selected]?.capped)}` : 'Show them'}
              </a>
            )}
            <button type="button" class="button small" onClick={() => setQuery({ state: undefined })}>
              <Icon name="close" /> All
            </button>
          </>
        )
      }
    >
      <div class="table-scroll machine-table" tabIndex={0} role="group" aria-label="Transitions">
        <table class="table">
          <thead>
            <tr>
              <th>From</th>
              <th>To</th>
              <th>Who may</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((each) => (
              <tr key={`${each.from}>${each.to}`}>
                <td class={`tone-${toneOf(each.from)}`}>{wordsOf(each.from)}</td>
                <td class={`tone-${toneOf(each.to)}`}>{wordsOf(each.to)}</td>
                <td>{each.actors.join(', ')}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

function listOf(entity: string, state: string): string | null {
  if (entity === 'job') return hrefOf(['jobs'], { status: state });
  if (entity === 'worker' && isAdmin.value) return hrefOf(['workers']);
  return null;
}

/** The tasks of a job as a list: a view of the grid by stage and status, for any number of tasks. */

import { useComputed, useSignal } from '@preact/signals';
import { now } from '../../clock';
import { EmptyState } from '../../components/States';
import { Status } from '../../components/Status';
import { Time } from '../../components/Time';
import { VirtualList } from '../../components/VirtualList';
import { duration, number } from '../../format';
import { isNarrow } from '../../media';
import { query, setQuery } from '../../router';
import { STATUS_ORDER, type JobGrid, type StageCells } from './grid';
import { factsOf, timeOf, type TaskName } from './tasks';

const ROW = 31;

/** The tasks that are listed: the stage of each, and its cell there. */
interface TaskRows {
  stages: StageCells[];
  stage: Uint16Array;
  index: Uint32Array;
  length: number;
}

export function Tasks({ grid, stage, isActive, onOpen }: { grid: JobGrid; stage: string; isActive: boolean; onOpen: (task: TaskName) => void }) {
  const wanted = query.value.get('tasks') ?? '';
  const revision = useSignal(grid.revision);
  revision.value = grid.revision;
  const filter = useSignal('');
  filter.value = `${stage}|${wanted}`;
  const rows = useComputed(() => {
    void revision.value;
    const [name, status] = filter.value.split('|');
    const code = (STATUS_ORDER as readonly string[]).indexOf(status ?? '');
    const stages = [...grid.stages.values()].filter((cells) => !name || cells.name === name);
    const length = stages.reduce((sum, cells) => sum + (code < 0 ? cells.size : (cells.counts[code] ?? 0)), 0);
    const found: TaskRows = { stages, stage: new Uint16Array(length), index: new Uint32Array(length), length };
    let next = 0;
    for (const [position, cells] of stages.entries()) {
      for (let index = 0; index < cells.size; index++) {
        if (code >= 0 && cells.status[index] !== code) continue;
        found.stage[next] = position;
        found.index[next++] = index;
      }
    }
    return found;
  });
  const list = rows.value;
  return (
    <div class="stack">
      <div class="row wrap">
        <select class="select" aria-label="Status" value={wanted} onChange={(event) => setQuery({ tasks: event.currentTarget.value })}>
          <option value="">all statuses</option>
          {STATUS_ORDER.map((status) => (
            <option key={status} value={status}>
              {status}
            </option>
          ))}
        </select>
        <span class="muted small">
          {number(list.length)} tasks{stage && ` of ${stage}`}
        </span>
      </div>
      {list.length === 0 ? (
        <EmptyState title="No tasks">
          <p>No task of this job matches.</p>
        </EmptyState>
      ) : (
        <VirtualList
          class="tasks"
          role="table"
          label="Tasks"
          count={list.length}
          rowHeight={ROW}
          minWidth={isNarrow.value ? 620 : 0}
          head={
            <div class="tasks-row tasks-head" role="row">
              {['Task', 'Status', 'Attempt', 'Worker', 'Started', 'Took'].map((name) => (
                <span key={name} role="columnheader">
                  {name}
                </span>
              ))}
            </div>
          }
          row={(position) => {
            const cells = list.stages[list.stage[position] ?? 0];
            const index = list.index[position];
            if (!cells || index === undefined) return null;
            grid.look(cells, index);
            const facts = factsOf(grid, cells, index, isActive);
            const time = timeOf(facts, now.value);
            return (
              <div class="tasks-row" role="row">
                <span role="cell">
                  <button type="button" class="link-button mono" onClick={() => onOpen(facts)}>
                    {facts.stage}/{facts.part}
                  </button>
                </span>
                <span role="cell" class="row">
                  <Status status={facts.status} />
                  {facts.status === 'running' && <span class="muted">{facts.percent} %</span>}
                </span>
                <span role="cell">{facts.attempt ? `${facts.attempt} of ${facts.maxAttempts}` : '–'}</span>
                <span role="cell" class="truncate">
                  {facts.worker ?? '–'}
                </span>
                <span role="cell">
                  <Time at={facts.claimedAt || null} />
                </span>
                <span role="cell">{time === null ? '–' : duration(time)}</span>
              </div>
            );
          }}
        />
      )}
    </div>
  );
}

/** The state of the deployment at one look. */

import { useMemo } from 'preact/hooks';
import { api } from '../api/client';
import type { components } from '../api/schema';
import { Chart } from '../components/Chart';
import { Command } from '../components/Copy';
import { Mark } from '../components/Icon';
import { Panel } from '../components/Panel';
import { EmptyState, ErrorState, Skeleton } from '../components/States';
import { Time } from '../components/Time';
import { count, duration, number } from '../format';
import { useResource } from '../live/resource';
import { hrefOf } from '../router';
import type { PageProps } from '../routes';
import { isAdmin } from '../session';
import { PHASES, toneOf } from '../status';
import '../styles/overview.css';
import { AttentionList } from './overview/Attention';
import { Wall } from './overview/Wall';
import { useFleet } from './workers/useFleet';

type OverviewDocument = components['schemas']['OverviewDocument'];
/** Milliseconds between two reads: the server keeps an overview for four seconds. */
const EVERY = 4000;

export default function Overview(_: PageProps) {
  const overview = useResource<OverviewDocument>(
    () => ({
      load: (signal) => api.get('/api/v1/overview', { signal }),
      matters: (batch) => batch.events.some((event) => event.kind === 'event' && event.entity !== 'stage'),
      every: EVERY,
    }),
    [],
  );
  const found = overview.value.value;
  if (overview.error.value && !found) return <ErrorState error={overview.error.value} retry={() => void overview.reload()} />;
  if (!found) {
    return (
      <div class="stack">
        <div class="figures">
          {Array.from({ length: 6 }, (_, index) => (
            <span key={index} class="panel figure">
              <Skeleton lines={2} />
            </span>
          ))}
        </div>
        <div class="panel panel-body">
          <Skeleton lines={8} />
        </div>
      </div>
    );
  }
  const isEmpty = Object.values(found.jobs).every((each) => each.count === 0);
  return (
    <div class="stack overview">
      <Figures found={found} />
      {isEmpty && (
        <section class="panel">
          <EmptyState icon="videos" title="No jobs yet">
            <p>Submit a video, and watch its chunks being encoded here.</p>
            <Command text="reel submit transcode movie.mp4" />
          </EmptyState>
        </section>
      )}
      <div class="overview-columns">
        <div class="stack">
          {isAdmin.value && <Slots />}
          <Charts minutes={found.minutes} />
        </div>
        <div class="stack">
          <Panel title="Needs attention" class="overview-attention" isFlush>
            <AttentionList items={found.attention} />
          </Panel>
          <Pipelines found={found} />
          <Oldest found={found} />
        </div>
      </div>
    </div>
  );
}

function Figures({ found }: { found: OverviewDocument }) {
  const of = (names: readonly string[]) => {
    const counts = names.flatMap((name) => found.jobs[name] ?? []);
    return { total: counts.reduce((sum, each) => sum + each.count, 0), capped: counts.some((each) => each.capped) };
  };
  const lastHour = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);
  const figures = [
    { label: 'Running', status: 'running', ...of(PHASES), note: found.slots ? `${number(found.slots.busy)} of ${number(found.slots.total)} slots` : '' },
    { label: 'Waiting', status: 'pending', ...of(['pending']), note: readyNote(found) },
    { label: 'Failed', status: 'failed', ...of(['failed']), note: `${number(lastHour(found.minutes.failed))} in the last hour` },
    { label: 'Quarantined', status: 'quarantined', ...of(['quarantined']), note: 'wait for an operator' },
    { label: 'Completed', status: 'completed', ...of(['completed']), note: `${number(lastHour(found.minutes.completed))} in the last hour` },
  ];
  return (
    <div class="figures">
      {figures.map((figure) => (
        <a key={figure.status} class="panel figure" href={hrefOf(['jobs'], { status: figure.status })} data-figure={figure.status}>
          <span class={`figure-label tone-${toneOf(figure.status)}`}>
            <Mark tone={toneOf(figure.status)} /> {figure.label}
          </span>
          <span class={figure.total ? 'figure-value' : 'figure-value muted'}>{count(figure.total, figure.capped)}</span>
          <span class="muted small">{figure.note}</span>
        </a>
      ))}
    </div>
  );
}

function readyNote(found: OverviewDocument): string {
  const ready = found.pipelines.reduce((sum, each) => sum + each.ready.count, 0);
  const isCapped = found.pipelines.some((each) => each.ready.capped);
  return `${count(ready, isCapped)} ready tasks`;
}

function Slots() {
  const resource = useFleet();
  const fleet = resource.value.value;
  const active = fleet?.workers.filter((worker) => worker.status !== 'offline') ?? [];
  return (
    <Panel title="Workers" actions={<a href={hrefOf(['workers'])}>All workers</a>}>
      {!fleet ? (
        resource.error.value ? <ErrorState error={resource.error.value} /> : <Skeleton lines={3} />
      ) : active.length ? (
        <Wall fleet={fleet} />
      ) : (
        <EmptyState icon="workers" title="No worker is running">
          <p>Jobs wait until a worker claims their tasks. Start one on this machine:</p>
          <Command text="reel worker" />
        </EmptyState>
      )}
    </Panel>
  );
}

function Charts({ minutes }: { minutes: OverviewDocument['minutes'] }) {
  const times = useMemo(() => minutes.at.map((at) => at / 1000), [minutes.at]);
  const work = useMemo(() => [minutes.attempts_done, minutes.attempts_failed, minutes.completed], [minutes]);
  const waits = useMemo(() => [minutes.wait_median, minutes.wait_p95], [minutes]);
  return (
    <>
      <Panel title="Work per minute, last hour" actions={!minutes.complete && <span class="muted small">some events were skipped</span>}>
        <Chart
          label="Finished and failed attempts and completed jobs per minute in the last hour"
          times={times}
          values={work}
          series={[
            { label: 'attempts done', token: '--done-fill', style: 'area' },
            { label: 'attempts failed', token: '--failed-fill', dash: [4, 3] },
            { label: 'jobs completed', token: '--accent' },
          ]}
          format={(value) => number(Math.round(value * 10) / 10)}
        />
      </Panel>
      <Panel title="Wait until a worker claims a task, last hour">
        <Chart
          label="Median and 95th percentile of the wait of tasks per minute in the last hour"
          times={times}
          values={waits}
          series={[
            { label: 'median', token: '--running-fill', style: 'area', points: true },
            { label: '95 % wait less', token: '--retrying-fill', dash: [4, 3], points: true },
          ]}
          format={duration}
        />
      </Panel>
    </>
  );
}

function Pipelines({ found }: { found: OverviewDocument }) {
  if (!found.pipelines.length) return null;
  return (
    <Panel title="Tasks by pipeline" isFlush>
      <div class="table-scroll">
        <table class="table">
          <thead>
            <tr>
              <th>Pipeline</th>
              <th class="number">Ready</th>
              <th class="number">Running</th>
              <th class="number">Oldest ready</th>
            </tr>
          </thead>
          <tbody>
            {found.pipelines.map((each) => (
              <tr key={each.pipeline}>
                <td>
                  <a href={hrefOf(['jobs'], { pipeline: each.pipeline })}>{each.pipeline}</a>
                </td>
                <td class="number">{count(each.ready.count, each.ready.capped)}</td>
                <td class="number">{count(each.running.count, each.running.capped)}</td>
                <td class="number">{each.oldest === null ? <span class="muted">–</span> : duration(each.oldest)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

function Oldest({ found }: { found: OverviewDocument }) {
  return (
    <Panel title="Waiting longest" isFlush>
      {found.oldest.length === 0 ? (
        <p class="calm muted">No task waits for a worker.</p>
      ) : (
        <ul class="attention">
          {firstOfStages(found.oldest).map(({ each, tasks }) => (
            <li key={each.task}>
              <a class="attention-item" href={hrefOf(['jobs', String(each.job)], { stage: each.stage })}>
                <span class="grow truncate">
                  <strong>{each.stage}</strong> <span class="muted">of {each.pipeline}{tasks > 1 && `, ${number(tasks)} tasks or more`}</span>
                </span>
                <Time at={each.ready_at} />
              </a>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

/** Group the tasks that wait by their stage: those of one stage wait for the same reason. */
function firstOfStages(oldest: OverviewDocument['oldest']): { each: OverviewDocument['oldest'][number]; tasks: number }[] {
  const stages = new Map<string, { each: OverviewDocument['oldest'][number]; tasks: number }>();
  for (const each of oldest) {
    const key = `${each.job}/${each.stage}`;
    const known = stages.get(key);
    if (known) known.tasks++;
    else stages.set(key, { each, tasks: 1 });
  }
  return [...stages.values()];
}

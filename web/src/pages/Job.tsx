/** One job: how far it is, what runs where, why it failed, and what to do. */

import { useComputed } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { api } from '../api/client';
import type { EventMessage, JobDetail, Stage } from '../api/types';
import { Json } from '../components/Json';
import { Panel } from '../components/Panel';
import { EmptyState, ErrorState, Skeleton } from '../components/States';
import { Status } from '../components/Status';
import { Tabs } from '../components/Tabs';
import { useTitle } from '../Shell';
import { decide } from '../live/versions';
import { useResource, type Resource } from '../live/resource';
import { query, setQuery } from '../router';
import type { PageProps } from '../routes';
import { isActive, isStopped } from '../status';
import '../styles/job.css';
import { CellGrid } from './job/CellGrid';
import { Details } from './job/details';
import { StageGraph } from './job/Graph';
import { addKnown, applyToGrid, countOf, gridOf, type JobGrid, type StageCells } from './job/grid';
import { askRetry, JobHeader } from './job/Header';
import { History } from './job/History';
import { Logs } from './job/Logs';
import { Problem } from './job/Problem';
import { StatesGrid } from './job/StatesGrid';
import { Steps } from './job/Steps';
import { TaskDialog } from './job/TaskDialog';
import { Tasks } from './job/Tasks';
import { factsOf, sentenceOf, type TaskName } from './job/tasks';
import { Timeline } from './job/Timeline';
import { Why } from './job/Why';
import { permits } from './jobs/actions';
import { subjectOf } from './jobs/rows';

const TABS = [
  { id: 'grid', label: 'Grid' },
  { id: 'timeline', label: 'Timeline' },
  { id: 'tasks', label: 'Tasks' },
  { id: 'logs', label: 'Log' },
  { id: 'steps', label: 'Commands' },
  { id: 'states', label: 'States' },
  { id: 'history', label: 'History' },
  { id: 'spec', label: 'Spec' },
  { id: 'outputs', label: 'Outputs' },
];

const isEvent = (event: { kind: string }): event is EventMessage => event.kind === 'event';

export default function Job({ params }: PageProps) {
  const id = params['id'] ?? '';
  const detail = useResource<JobDetail>(
    () => ({
      job: id,
      load: (signal) => api.get('/api/v1/jobs/{job_id}', { path: { job_id: id }, signal }),
      apply: (job, batch, reload) => applyToJob(job, batch.events.filter(isEvent), reload),
      every: 700,
    }),
    [id],
  );
  const cells: Resource<{ grid: JobGrid }> = useResource(
    () => ({
      job: id,
      progress: true,
      load: async (signal) => {
        const spans = await api.get('/api/v1/jobs/{job_id}/spans', { path: { job_id: id }, signal });
        return { grid: gridOf(spans, cells.value.peek()?.grid, (stage, index) => details.want(stage, index)) };
      },
      apply: ({ grid }, batch, reload) => {
        if (applyToGrid(grid, batch.events.filter(isEvent), batch.progress)) reload();
        return { grid };
      },
      every: 300,
    }),
    [id],
  );
  const details = useMemo(
    () =>
      new Details(
        (stage, first, last, signal) => api.get('/api/v1/jobs/{job_id}/grid', { path: { job_id: id }, query: { stage, first, last }, signal }),
        (document) => {
          const grid = cells.value.peek()?.grid;
          if (!grid) return;
          addKnown(grid, document);
          cells.value.value = { grid };
        },
      ),
    [id],
  );
  useEffect(() => () => details.stop(), [details]);
  const job = detail.value.value;
  const grid = cells.value.value?.grid;
  const title = job ? `${subjectOf(job.spec) || job.pipeline}` : null;
  useTitle(title);
  if (detail.error.value && !job) return <ErrorState error={detail.error.value} retry={() => void detail.reload()} />;
  if (!job) {
    return (
      <div class="panel panel-body">
        <Skeleton lines={8} />
      </div>
    );
  }
  return <JobView id={id} job={job} grid={grid} />;
}

function JobView({ id, job, grid }: { id: string; job: JobDetail; grid: JobGrid | undefined }) {
  const isMoving = isActive(job.status);
  const stage = query.value.get('stage') ?? '';
  const tab = query.value.get('tab') ?? 'grid';
  const task = useComputed<TaskName | null>(() => taskIn(query.value.get('task')));
  const canRetry = permits('retry') && !job.archived && isStopped(job.status);
  const open = (name: TaskName) => setQuery({ task: `${name.stage}/${name.part}` });
  const rungs = useRungs(job);
  const waits = isMoving && !job.archived && grid !== undefined && [...grid.stages.values()].every((cells) => countOf(cells, 'running') === 0);
  return (
    <div class="stack job">
      <JobHeader job={job} grid={grid} />
      {waits && <Why job={id} />}
      <Notices job={job} explainsWaits={waits} />
      <Panel
        title="Stages"
        isFlush
        actions={
          stage && (
            <>
              <span class="muted small">showing {stage}</span>
              {canRetry && (
                <button type="button" class="button small" onClick={() => askRetry(id, stage, null)}>
                  Retry from {stage}
                </button>
              )}
              <button type="button" class="button small quiet" onClick={() => setQuery({ stage: undefined })}>
                Show all
              </button>
            </>
          )
        }
      >
        <StageGraph stages={job.stages} grid={grid} isActive={isMoving} selected={stage} onSelect={(name) => setQuery({ stage: name })} />
      </Panel>
      <section class="panel">
        <Tabs label="Of this job" tabs={TABS} current={tab} onSelect={(next) => setQuery({ tab: next === 'grid' ? undefined : next })} />
        <div class="panel-body job-tab" role="tabpanel">
          {tab === 'grid' && <Grids id={id} job={job} grid={grid} stage={stage} rungs={rungs} canRetry={canRetry} onOpen={open} />}
          {tab === 'timeline' && <Timeline job={id} isActive={isMoving} onOpen={open} />}
          {tab === 'tasks' && (grid ? <Tasks grid={grid} stage={stage} isActive={isMoving} onOpen={open} /> : <Skeleton />)}
          {tab === 'logs' && <Logs job={id} stage={stage} isActive={isMoving} />}
          {tab === 'steps' && <Steps job={id} stage={stage} isActive={isMoving} />}
          {tab === 'states' && <StatesGrid job={id} />}
          {tab === 'history' && <History job={id} stage={stage} />}
          {tab === 'spec' && <Json value={job.spec} label="spec" />}
          {tab === 'outputs' && <Outputs job={job} />}
        </div>
      </section>
      {task.value && (
        <TaskDialog
          job={id}
          task={task.value}
          isActive={isMoving}
          canRetry={canRetry}
          onRetry={() => task.value && askRetry(id, task.value.stage, [[task.value.part, task.value.part]])}
          onClose={() => setQuery({ task: undefined })}
        />
      )}
    </div>
  );
}

/** Milliseconds after which counters of stages are read again while tasks move; the grid shows them meanwhile. */
const COUNTERS = 3000;

/** Change the job by its transitions; counters of stages are read again. */
function applyToJob(job: JobDetail, events: readonly EventMessage[], reload: (every?: number) => void): JobDetail {
  let next = job;
  for (const event of events) {
    if (event.entity !== 'job' || decide(next.version, event.version) === 'old') continue;
    next = { ...next, status: event.to as JobDetail['status'], version: event.version, actor: event.actor, reason: event.reason, changed_at: event.at };
    if (next.started_at === null && event.to !== 'pending') next.started_at = event.at;
  }
  if (events.some((event) => event.entity !== 'task')) reload();
  else if (events.length) reload(COUNTERS);
  return next;
}

function taskIn(text: string | null): TaskName | null {
  const slash = text?.lastIndexOf('/') ?? -1;
  if (!text || slash < 1) return null;
  const part = Number(text.slice(slash + 1));
  return Number.isInteger(part) && part >= 0 ? { stage: text.slice(0, slash), part } : null;
}

function Notices({ job, explainsWaits }: { job: JobDetail; explainsWaits: boolean }) {
  const waits = explainsWaits ? [] : job.stages.filter((stage) => stage.waits_for.length);
  return (
    <>
      {job.error !== null && job.status !== 'completed' && <Problem error={job.error} title={job.status === 'quarantined' ? 'The job is quarantined' : isActive(job.status) ? 'It failed before' : 'The job failed'} />}
      {job.error === null && isStopped(job.status) && job.reason && (
        <div class="notice error">
          <strong>The job is {job.status}</strong>
          <span>{job.reason}</span>
        </div>
      )}
      {job.flagged && (
        <div class="notice warn">
          <strong>Flagged for an operator</strong>
          <span>{job.flagged}</span>
        </div>
      )}
      {job.inconsistent && (
        <div class="notice error">
          <strong>Its record is inconsistent</strong>
          <span>{job.inconsistent}. Run <code>reel doctor</code>.</span>
        </div>
      )}
      {waits.map((stage) => (
        <div key={stage.name} class="notice warn">
          <strong>No worker can run {stage.name}</strong>
          <span>
            It needs {stage.waits_for.join(', ')}. Start a worker with <code>--capabilities {stage.waits_for.join(',')}</code>.
          </span>
        </div>
      ))}
      {job.degraded !== null && (
        <details class="notice warn">
          <summary>
            <strong>Degraded:</strong> optional parts are missing
          </summary>
          <pre class="pre">{JSON.stringify(job.degraded, null, 2)}</pre>
        </details>
      )}
    </>
  );
}

interface GridsProps {
  id: string;
  job: JobDetail;
  grid: JobGrid | undefined;
  stage: string;
  rungs: readonly string[];
  canRetry: boolean;
  onOpen: (task: TaskName) => void;
}

function Grids({ id, job, grid, stage, rungs, canRetry, onOpen }: GridsProps) {
  if (!grid) return <Skeleton lines={5} />;
  const cellsOf = (each: Stage) => grid.stages.get(each.name);
  const all = job.stages.filter((each) => !stage || each.name === stage).map(cellsOf);
  const shown = all.filter((cells): cells is StageCells => cells !== undefined && cells.size > 0);
  // Stages that fan out are what one looks for; the others are a line below them.
  const isSingle = (cells: StageCells) => cells.size === 1 && !(cells.name === 'encode' && rungs.length > 1);
  const wide = shown.filter((cells) => !isSingle(cells));
  const single = shown.filter(isSingle);
  if (!shown.length) {
    return (
      <EmptyState icon="workers" title="No tasks yet">
        <p>{job.status === 'pending' ? 'The job waits for a worker.' : 'This stage has not been opened.'}</p>
      </EmptyState>
    );
  }
  return (
    <div class="grids">
      {grid.isTruncated && <div class="notice warn">The job has more tasks than are shown here: these are the first.</div>}
      {wide.map((cells) => (
        <CellGrid
          key={cells.name}
          job={id}
          grid={grid}
          cells={cells}
          rungs={cells.name === 'encode' && cells.size <= 3000 ? rungs : []}
          isActive={isActive(job.status)}
          canRetry={canRetry}
          onOpen={onOpen}
          onRetry={(name, parts) => askRetry(id, name, parts)}
        />
      ))}
      {single.length > 0 && (
        <section class="cells">
          <div class="cells-head">
            <h3>{wide.length ? 'Single tasks' : 'Tasks'}</h3>
          </div>
          <div class="row wrap">
            {single.map((cells) => {
              const facts = factsOf(grid, cells, 0, isActive(job.status));
              return (
                <button key={cells.name} type="button" class="button" title={sentenceOf(facts, Date.now())} onClick={() => onOpen(facts)}>
                  <Status status={facts.status} label={cells.name} />
                  {facts.status === 'running' && <span class="muted">{facts.percent} %</span>}
                </button>
              );
            })}
          </div>
        </section>
      )}
    </div>
  );
}

/** The rungs of a transcode: of its outputs, else of its video's version in progress. */
function useRungs(job: JobDetail): readonly string[] {
  const known = useMemo(() => rungsIn(job.outputs), [job.outputs]);
  const isTranscode = job.pipeline === 'transcode' && job.resource_id !== null && !job.archived;
  const needsVideo = isTranscode && !known.length;
  const isPlanned = job.stages.some((stage) => stage.name === 'encode' && stage.opened_at !== null);
  const video = useResource<string[]>(
    () => ({
      job: String(job.id),
      load: async (signal) => {
        if (!needsVideo || !isPlanned) return [];
        const found = await api.get('/api/v1/videos/{video_id}', { path: { video_id: String(job.resource_id) }, signal });
        return found.latest === job.id ? found.qualities.map((quality) => quality.quality) : [];
      },
      matters: () => false,
    }),
    [job.id, needsVideo, isPlanned],
  );
  return known.length ? known : (video.value.value ?? []);
}

function rungsIn(outputs: Record<string, unknown>): string[] {
  const publish = outputs['publish'];
  const rungs = publish !== null && typeof publish === 'object' ? (publish as Record<string, unknown>)['rungs'] : null;
  return Array.isArray(rungs) ? rungs.map(String) : [];
}

function Outputs({ job }: { job: JobDetail }) {
  if (!Object.keys(job.outputs).length) {
    return (
      <EmptyState title="No outputs yet">
        <p>The results of the last stages appear here when they are done.</p>
      </EmptyState>
    );
  }
  return <Json value={job.outputs} label="outputs" />;
}

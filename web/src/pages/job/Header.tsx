/** The head of a job: what it is, how far it is, and what can be done with it. */

import { useSignal } from '@preact/signals';
import { api } from '../../api/client';
import type { JobDetail } from '../../api/types';
import { now } from '../../clock';
import { confirm } from '../../components/Confirm';
import { CopyButton } from '../../components/Copy';
import { Icon } from '../../components/Icon';
import { Menu } from '../../components/Menu';
import { Progress } from '../../components/Progress';
import { Status } from '../../components/Status';
import { Elapsed, Time } from '../../components/Time';
import { toast } from '../../components/Toast';
import { duration, percent } from '../../format';
import { hrefOf } from '../../router';
import { isActive, isStopped } from '../../status';
import { act, applies, LABELS, permits, type JobAction } from '../jobs/actions';
import { PriorityField } from '../jobs/Bulk';
import { subjectOf } from '../jobs/rows';
import { estimate } from './estimate';
import { progressOf, type JobGrid } from './grid';

export function JobHeader({ job, grid }: { job: JobDetail; grid: JobGrid | undefined }) {
  const isMoving = isActive(job.status);
  const progress = job.status === 'completed' ? 100 : grid ? progressOf(grid, job.stages) : job.progress;
  const guess = isMoving && grid && job.started_at ? estimate(grid, job.stages, new Date(job.started_at).getTime(), now.value, progress) : null;
  return (
    <section class="panel job-head">
      <div class="job-head-line">
        <div class="job-name">
          <Status status={job.status} />
          <strong class="truncate">{subjectOf(job.spec) || job.pipeline}</strong>
        </div>
        <Actions job={job} />
      </div>
      <div class="job-progress">
        <Progress value={progress} status={job.status} label="Progress of the job" />
        <span class="job-percent">{percent(progress)}</span>
        <span class="muted job-eta">{guess ? <Eta low={guess.low} high={guess.high} /> : ''}</span>
      </div>
      <dl class="job-facts">
        <Fact name="Job">
          <code>{String(job.id)}</code>
          <CopyButton text={String(job.id)} label="Copy the id" />
        </Fact>
        <Fact name="Pipeline">
          <a href={hrefOf(['pipelines', job.pipeline])}>{job.pipeline}</a> <code class="muted">{job.digest.slice(0, 8)}</code>
        </Fact>
        {job.resource_id !== null && (
          <Fact name="Video">
            <a href={hrefOf(['videos', String(job.resource_id)])}>{String(job.resource_id)}</a>
          </Fact>
        )}
        {job.group !== null && (
          <Fact name="Group">
            <a href={hrefOf(['groups', job.group], { user: job.user_id })}>{job.group}</a>
          </Fact>
        )}
        <Fact name="User">{job.user_id || '–'}</Fact>
        <Fact name="Priority">{job.priority}</Fact>
        <Fact name="Created">
          <Time at={job.created_at} />
        </Fact>
        <Fact name="Waited">
          <Elapsed from={job.created_at} to={job.started_at ?? job.finished_at} />
        </Fact>
        <Fact name={job.finished_at ? 'Ran' : 'Running for'}>
          <Elapsed from={job.started_at} to={job.finished_at} />
        </Fact>
        <Fact name="Last change">
          <Time at={job.changed_at} /> <span class="muted">by {job.actor}</span>
        </Fact>
      </dl>
    </section>
  );
}

function Fact({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** The remaining time with its accuracy: the pace so far and the recent pace bound it. */
function Eta({ low, high }: { low: number; high: number }) {
  const isSharp = high - low < Math.max(5, low * 0.15);
  const text = isSharp ? `about ${duration((low + high) / 2)} left` : `${duration(low)} to ${duration(high)} left`;
  return <span title="From the pace since the job started and from its pace lately. Stages that are not open yet count by their weight, so early estimates are rough.">{text}</span>;
}

const ORDER: readonly JobAction[] = ['retry', 'cancel'];

function Actions({ job }: { job: JobDetail }) {
  const id = String(job.id);
  if (job.archived) return <span class="tag">archived: can only be read</span>;
  const shown = ORDER.filter((action) => permits(action) && applies(action, job.status));
  const canForce = permits('force') && (isActive(job.status) || isStopped(job.status));
  const canQuarantine = permits('quarantine') && applies('quarantine', job.status);
  const canPrioritise = permits('reprioritise') && applies('reprioritise', job.status);
  return (
    <div class="row">
      {shown.map((action) => (
        <button key={action} type="button" class={`button ${action === 'cancel' ? 'danger' : ''}`} onClick={() => ask(action, id)}>
          {action === 'retry' && <Icon name="retry" />}
          {LABELS[action].verb}
        </button>
      ))}
      {(canForce || canQuarantine || canPrioritise) && (
        <Menu name="More actions" label={<Icon name="more" />} buttonClass="button icon">
          {canPrioritise && (
            <button type="button" class="menu-item" onClick={() => askPriority(id, job.priority)}>
              Set the priority …
            </button>
          )}
          {canQuarantine && (
            <button type="button" class="menu-item danger" onClick={() => ask('quarantine', id)}>
              Quarantine …
            </button>
          )}
          {canForce &&
            (['completed', 'failed', 'pending'] as const).map((status) => (
              <button key={status} type="button" class="menu-item danger" onClick={() => askForce(id, status)}>
                Force to {status} …
              </button>
            ))}
        </Menu>
      )}
    </div>
  );
}

function ask(action: JobAction, id: string): void {
  confirm({
    title: `${LABELS[action].verb} job ${id}?`,
    body: LABELS[action].meaning,
    action: LABELS[action].verb,
    isDangerous: action !== 'retry',
    reason: action === 'quarantine' ? 'required' : 'optional',
    run: async (reason) => {
      await act(action, id, reason);
      toast(`Job ${LABELS[action].done}.`);
    },
  });
}

function askForce(id: string, status: 'completed' | 'failed' | 'pending'): void {
  confirm({
    title: `Force job ${id} to ${status}?`,
    body: 'Running tasks are stopped, and the status is set whatever the tasks say. Use it when you know better than the record.',
    action: `Force to ${status}`,
    isDangerous: true,
    reason: 'required',
    run: async (reason) => {
      await api.post('/api/v1/jobs/{job_id}/force', { path: { job_id: id }, body: { status, reason: reason ?? '' } });
      toast(`Job forced to ${status}.`);
    },
  });
}

function askPriority(id: string, priority: number): void {
  const chosen = { value: priority };
  confirm({
    title: `Priority of job ${id}`,
    body: <PriorityChoice chosen={chosen} />,
    action: 'Set the priority',
    reason: 'optional',
    run: async (reason) => {
      await act('reprioritise', id, reason, chosen.value);
      toast(`Priority set to ${chosen.value}.`);
    },
  });
}

function PriorityChoice({ chosen }: { chosen: { value: number } }) {
  const value = useSignal(chosen.value);
  return (
    <div class="stack">
      <p>{LABELS.reprioritise.meaning}</p>
      <PriorityField
        value={value.value}
        onChange={(next) => {
          value.value = next;
          chosen.value = next;
        }}
      />
    </div>
  );
}

/** Ask to retry a job from a stage, or some parts of it. */
export function askRetry(id: string, stage: string, parts: [number, number][] | null): void {
  const names = parts?.map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`)).join(', ');
  confirm({
    title: parts ? `Retry parts ${names} of ${stage}?` : `Retry job ${id} from ${stage}?`,
    body: parts
      ? 'These parts run again, and so do the stages that use their results. The other parts keep theirs.'
      : `All tasks of ${stage} run again, and so do the stages that come after it.`,
    action: 'Retry',
    reason: 'optional',
    run: async (reason) => {
      await api.post('/api/v1/jobs/{job_id}/retry', { path: { job_id: id }, body: { stage, parts, reason } });
      toast(parts ? 'Parts are retried.' : 'Job is retried.');
    },
  });
}

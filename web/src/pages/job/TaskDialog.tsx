/** One task: what it does now, why it failed, its commands and its log. */

import { useSignal } from '@preact/signals';
import { api } from '../../api/client';
import { now } from '../../clock';
import { Dialog } from '../../components/Dialog';
import { Progress } from '../../components/Progress';
import { ErrorState, Skeleton } from '../../components/States';
import { Status } from '../../components/Status';
import { Tabs } from '../../components/Tabs';
import { Elapsed, Time } from '../../components/Time';
import { duration } from '../../format';
import { useResource } from '../../live/resource';
import { hrefOf } from '../../router';
import { isAdmin } from '../../session';
import { Problem } from './Problem';
import { Logs } from './Logs';
import { Steps } from './Steps';
import type { TaskName } from './tasks';
import { Why } from './Why';

const WAITING: readonly string[] = ['new', 'ready', 'retrying'];

export function TaskDialog({ job, task, isActive, canRetry, onRetry, onClose }: { job: string; task: TaskName; isActive: boolean; canRetry: boolean; onRetry: () => void; onClose: () => void }) {
  const tab = useSignal('steps');
  const found = useResource(
    () => ({
      job,
      progress: true,
      load: async (signal) => {
        const after = task.part > 0 ? await cursorBefore(job, task, signal) : null;
        const page = await api.get('/api/v1/jobs/{job_id}/tasks', { path: { job_id: job }, query: { stage: task.stage, limit: 1, after }, signal });
        return page.items.find((each) => each.part === task.part) ?? null;
      },
      matters: (batch) => batch.events.some((event) => event.kind === 'event' && event.stage === task.stage && event.part === task.part) || batch.progress.some((each) => each.stage === task.stage && each.part === task.part),
      every: 1000,
    }),
    [job, task.stage, task.part],
  );
  const shown = found.value.value;
  return (
    <Dialog
      title={`${task.stage} ${task.part}`}
      isWide
      onClose={onClose}
      foot={
        canRetry && (
          <button type="button" class="button" onClick={onRetry}>
            Retry this part
          </button>
        )
      }
    >
      {found.error.value && !shown && <ErrorState error={found.error.value} retry={() => void found.reload()} />}
      {shown === undefined && !found.error.value && <Skeleton lines={4} />}
      {shown === null && <p class="muted">This task does not exist.</p>}
      {shown && (
        <>
          <div class="row wrap">
            <Status status={shown.claim_state === 'Retrying' ? 'retrying' : shown.status} />
            {shown.status === 'running' && (
              <span class="task-progress">
                <Progress value={shown.percent} />
              </span>
            )}
            {shown.message && <span class="muted">{shown.message}</span>}
          </div>
          {isActive && WAITING.includes(shown.claim_state === 'Retrying' ? 'retrying' : shown.status) && <Why job={job} task={task} />}
          <dl class="facts">
            <dt>Worker</dt>
            <dd>{shown.worker ? isAdmin.value ? <a href={hrefOf(['workers'], { name: shown.worker })}>{shown.worker}</a> : shown.worker : '–'}</dd>
            <dt>Attempt</dt>
            <dd>
              {shown.attempt} of {shown.max_attempts}
              {shown.lost > 0 && `, lost its worker ${shown.lost} ×`}
              {shown.isolated && ', runs alone on a worker'}
            </dd>
            <dt>Waited</dt>
            <dd>{shown.ready_at ? <Elapsed from={shown.ready_at} to={shown.claimed_at && shown.claimed_at > shown.ready_at ? shown.claimed_at : shown.status === 'ready' ? null : shown.ready_at} /> : '–'}</dd>
            <dt>Ran</dt>
            <dd>
              {shown.claimed_at ? <Elapsed from={shown.claimed_at} to={shown.status === 'running' ? null : shown.finished_at ?? shown.changed_at} /> : '–'}
              {shown.claimed_at && (
                <span class="muted">
                  , started <Time at={shown.claimed_at} />
                </span>
              )}
            </dd>
            {shown.status === 'running' && shown.lease_expires_at && (
              <>
                <dt>Lease</dt>
                <dd>{leaseText(shown.lease_expires_at, now.value)}</dd>
              </>
            )}
            {shown.run_after && shown.status === 'error' && (
              <>
                <dt>Next attempt</dt>
                <dd>
                  <Time at={shown.run_after} />
                </dd>
              </>
            )}
          </dl>
          {shown.error !== null && <Problem error={shown.error} title={shown.claim_state === 'Retrying' ? 'The last attempt failed; it is retried' : 'This task failed'} />}
        </>
      )}
      <Tabs label="Of this task" current={tab.value} onSelect={(id) => (tab.value = id)} tabs={[{ id: 'steps', label: 'Commands' }, { id: 'logs', label: 'Log' }]} />
      {tab.value === 'steps' ? <Steps job={job} task={task} isActive={isActive} /> : <Logs job={job} task={task} isActive={isActive} />}
    </Dialog>
  );
}

function leaseText(expires: string, at: number): string {
  const left = (new Date(expires).getTime() - at) / 1000;
  return left > 0 ? `expires in ${duration(left)} unless its worker renews it` : 'expired; the task goes to another worker';
}

/** Return the cursor before a task in the list of its stage: the id of the task before it. */
async function cursorBefore(job: string, task: TaskName, signal: AbortSignal): Promise<string> {
  const first = await api.get('/api/v1/jobs/{job_id}/tasks', { path: { job_id: job }, query: { stage: task.stage, limit: 1 }, signal });
  // The cursor is JOB/STAGE/PART with the number of the stage.
  const [, stage = '0'] = (first.after ?? '').split('/');
  return `${job}/${stage}/${task.part - 1}`;
}

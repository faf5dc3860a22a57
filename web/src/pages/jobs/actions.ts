/** What can be done with jobs: its words, and when it is possible. */

import { api } from '../../api/client';
import { isAdmin, may } from '../../session';
import { isActive, isStopped } from '../../status';

export type JobAction = 'cancel' | 'retry' | 'quarantine' | 'reprioritise';

/** Return whether an action applies to a job with a status. */
export function applies(action: JobAction, status: string): boolean {
  if (action === 'cancel') return isActive(status) || isStopped(status);
  if (action === 'retry') return isStopped(status);
  if (action === 'quarantine') return isActive(status) || status === 'failed';
  return isActive(status) || isStopped(status);
}

/** Return whether the session permits an action. */
export function permits(action: JobAction | 'force'): boolean {
  return action === 'quarantine' || action === 'force' ? isAdmin.value : may('jobs:write');
}

/** The statuses that an action applies to, as the API names them. */
export const SELECTABLE: Record<JobAction, readonly ('running' | 'pending' | 'failed' | 'quarantined')[]> = {
  cancel: ['pending', 'running', 'failed', 'quarantined'],
  retry: ['failed', 'quarantined'],
  quarantine: ['pending', 'running', 'failed'],
  reprioritise: ['pending', 'running', 'failed', 'quarantined'],
};

export const LABELS: Record<JobAction, { verb: string; done: string; meaning: string }> = {
  cancel: {
    verb: 'Cancel',
    done: 'cancelled',
    meaning: 'Running tasks are stopped. Results that are finished stay on record. A cancelled job cannot be retried.',
  },
  retry: { verb: 'Retry', done: 'retried', meaning: 'Unfinished tasks run again. Finished ones keep their results.' },
  quarantine: { verb: 'Quarantine', done: 'quarantined', meaning: 'Running tasks are stopped. The job waits until an operator retries or cancels it.' },
  reprioritise: { verb: 'Set the priority', done: 'reprioritised', meaning: 'It applies to all tasks, also to those that open later.' },
};

/** Do an action to one job. */
export async function act(action: JobAction, id: string, reason: string | null, priority = 5): Promise<void> {
  const path = { job_id: id };
  if (action === 'cancel') await api.post('/api/v1/jobs/{job_id}/cancel', { path, body: { reason } });
  else if (action === 'retry') await api.post('/api/v1/jobs/{job_id}/retry', { path, body: { reason } });
  else if (action === 'quarantine') await api.post('/api/v1/jobs/{job_id}/quarantine', { path, body: { reason: reason ?? '' } });
  else await api.post('/api/v1/jobs/{job_id}/reprioritise', { path, body: { priority, reason } });
}

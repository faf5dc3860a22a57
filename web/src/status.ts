/** The states of jobs, tasks, stages and workers: their tone (a colour and a shape) and their words. */

import type { JobStatus, TaskStatus } from './api/types';

export type Tone =
  | 'waiting'
  | 'running'
  | 'done'
  | 'failed'
  | 'retrying'
  | 'quarantined'
  | 'skipped'
  | 'cancelled';

const TONES: Record<string, Tone> = {
  pending: 'waiting',
  validating: 'running',
  planning: 'running',
  downloading_inputs: 'running',
  processing: 'running',
  uploading_outputs: 'running',
  running: 'running',
  completed: 'done',
  failed: 'failed',
  quarantined: 'quarantined',
  cancelled: 'cancelled',
  new: 'waiting',
  ready: 'waiting',
  done: 'done',
  error: 'failed',
  skipped: 'skipped',
  retrying: 'retrying',
  lost: 'retrying',
  released: 'cancelled',
  idle: 'waiting',
  busy: 'running',
  active: 'running',
  draining: 'retrying',
  offline: 'cancelled',
  disabled: 'failed',
  delivered: 'done',
  waiting: 'waiting',
};

/** Return the tone of a status; an unknown one is shown as waiting. */
export function toneOf(status: string): Tone {
  return TONES[status] ?? 'waiting';
}

/** Return a status as words: `downloading_inputs` → `downloading inputs`. */
export function wordsOf(status: string): string {
  return status.replaceAll('_', ' ');
}

export const PHASES: readonly JobStatus[] = ['validating', 'planning', 'downloading_inputs', 'processing', 'uploading_outputs'];
export const JOB_STATUSES: readonly JobStatus[] = ['pending', ...PHASES, 'completed', 'failed', 'quarantined', 'cancelled'];
export const TASK_STATUSES: readonly TaskStatus[] = ['new', 'ready', 'running', 'done', 'error', 'skipped', 'cancelled'];

export const isRunning = (status: string) => (PHASES as readonly string[]).includes(status);
export const isActive = (status: string) => status === 'pending' || isRunning(status);
export const isStopped = (status: string) => status === 'failed' || status === 'quarantined';

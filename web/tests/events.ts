/** Events as the server sends them. */

import type { EventMessage, Progress } from '../src/api/types';

export const START = Date.UTC(2026, 0, 1, 12);

export function jobEvent(job: number, version: number, from: string | null, to: string, actor = 'worker'): EventMessage {
  return eventOf({ entity: 'job', id: job, job, version, from, to, actor });
}

export function taskEvent(stage: string, part: number, version: number, from: string | null, to: string, rest: Partial<EventMessage> = {}): EventMessage {
  return eventOf({ entity: 'task', id: `7/${stage}/${part}`, job: 7, stage, part, version, from, to, ...rest });
}

export function eventOf(fields: Partial<EventMessage>): EventMessage {
  return {
    kind: 'event',
    entity: 'task',
    id: null,
    version: 1,
    from: null,
    to: 'ready',
    actor: 'worker',
    reason: null,
    at: new Date(START).toISOString(),
    job: null,
    stage: null,
    part: null,
    worker: null,
    worker_name: null,
    token: null,
    data: null,
    cursor: 'c',
    ...fields,
  };
}

export function progressOfTask(stage: string, part: number, percent: number): Progress {
  return { kind: 'progress', id: `7/${stage}/${part}`, job: 7, stage, part, token: 1, percent, message: null, step: null, at: new Date(START).toISOString() };
}

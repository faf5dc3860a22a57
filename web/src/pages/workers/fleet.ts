/** The workers and what runs in their slots, kept up to date by events. Pure, apart from the request. */

import { api } from '../../api/client';
import type { EventMessage, Progress, Worker } from '../../api/types';

export interface RunningTask {
  /** JOB/STAGE/PART */
  id: string;
  job: string;
  stage: string;
  part: number;
  worker: number;
  /** Milliseconds since 1970; 0 when it was claimed before the page was opened. */
  since: number;
  percent: number;
}

export interface Fleet {
  workers: readonly Worker[];
  running: Map<string, RunningTask>;
}

export async function readFleet(before: Fleet | undefined, signal: AbortSignal): Promise<Fleet> {
  return fleetOf(await api.get('/api/v1/workers', { signal }), before);
}

/** Return the fleet of a list of workers; what is known of tasks that still run is kept. */
export function fleetOf(workers: readonly Worker[], before?: Fleet): Fleet {
  const running = new Map<string, RunningTask>();
  for (const worker of workers) {
    for (const id of worker.tasks) {
      const known = before?.running.get(id);
      const made = known?.worker === worker.id ? known : taskOf(id, worker.id);
      if (made) running.set(id, made);
    }
  }
  return { workers, running };
}

function taskOf(id: string, worker: number): RunningTask | null {
  const [job, ...rest] = id.split('/');
  const part = Number(rest.pop());
  if (!job || !rest.length) return null;
  return { id, job, stage: rest.join('/'), part, worker, since: 0, percent: 0 };
}

/** Apply events and progress. Return the changed fleet, and whether the workers must be read again. */
export function applyToFleet(fleet: Fleet, events: readonly EventMessage[], progress: readonly Progress[]): { fleet: Fleet; needsRead: boolean } {
  let needsRead = false;
  const running = new Map(fleet.running);
  for (const event of events) {
    if (event.entity === 'worker') needsRead = true;
    if (event.entity !== 'task') continue;
    const id = String(event.id);
    if (event.to === 'running' && event.worker !== null) {
      const made = taskOf(id, event.worker);
      if (made) running.set(id, { ...made, since: new Date(event.at).getTime() });
      if (!fleet.workers.some((worker) => worker.id === event.worker)) needsRead = true;
    } else if (event.from === 'running') running.delete(id);
  }
  for (const each of progress) {
    const known = running.get(each.id);
    if (known) running.set(each.id, { ...known, percent: each.percent });
  }
  return { fleet: { workers: fleet.workers, running }, needsRead };
}

/** The running tasks of a worker, in a stable order. */
export function tasksOf(fleet: Fleet, worker: Worker): RunningTask[] {
  return [...fleet.running.values()].filter((task) => task.worker === worker.id).sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** The status to show: what a worker runs is known earlier than its own row is read again. */
export function statusOf(fleet: Fleet, worker: Worker): string {
  if (worker.status !== 'idle' && worker.status !== 'busy') return worker.status;
  return tasksOf(fleet, worker).length || worker.stuck ? 'busy' : 'idle';
}

/** Capabilities in two groups: those that people choose, and the encoders of ffmpeg. */
export function groupCapabilities(names: readonly string[]): { own: string[]; encoders: string[] } {
  const own = names.filter((name) => !name.startsWith('encoder:')).sort();
  const encoders = names.filter((name) => name.startsWith('encoder:')).map((name) => name.slice('encoder:'.length)).sort();
  return { own, encoders };
}

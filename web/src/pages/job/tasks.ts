/** What is known of one task, in words. */

import { duration } from '../../format';
import { partOf, STATUS_ORDER, type JobGrid, type StageCells } from './grid';

export interface TaskName {
  stage: string;
  part: number;
}

export interface CellFacts extends TaskName {
  status: string;
  percent: number;
  worker: string | null;
  attempt: number;
  maxAttempts: number;
  lost: number;
  claimedAt: number;
  finishedAt: number;
}

/** Return the facts of a cell. A failed task of an active job that has attempts left waits for its retry. */
export function factsOf(grid: JobGrid, cells: StageCells, index: number, isActive: boolean): CellFacts {
  const status = STATUS_ORDER[cells.status[index] ?? 0] ?? 'new';
  const attempt = cells.attempt[index] ?? 0;
  const isRetrying = status === 'error' && isActive && attempt < cells.maxAttempts;
  return {
    stage: cells.name,
    part: partOf(cells, index),
    status: isRetrying ? 'retrying' : status,
    percent: cells.percent[index] ?? 0,
    worker: grid.workers[cells.worker[index] ?? -1] ?? null,
    attempt,
    maxAttempts: cells.maxAttempts,
    lost: cells.lost[index] ?? 0,
    claimedAt: cells.claimedAt[index] ?? 0,
    finishedAt: cells.finishedAt[index] ?? 0,
  };
}

/** Return the facts as a sentence, as a screen reader says it. */
export function sentenceOf(facts: CellFacts, now: number): string {
  const parts = [`${facts.stage} ${facts.part}: ${facts.status}`];
  if (facts.status === 'running') parts.push(`${facts.percent} percent`);
  if (facts.worker) parts.push(`on ${facts.worker}`);
  if (facts.attempt) parts.push(`attempt ${facts.attempt} of ${facts.maxAttempts}`);
  const time = timeOf(facts, now);
  if (time !== null) parts.push(duration(time));
  return parts.join(', ');
}

/** Seconds of the newest run; null before the first. */
export function timeOf(facts: CellFacts, now: number): number | null {
  if (!facts.claimedAt) return null;
  const end = facts.status === 'running' ? now : facts.finishedAt;
  return end ? Math.max(0, (end - facts.claimedAt) / 1000) : null;
}

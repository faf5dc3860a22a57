/** How long a job will still take, with how far that can be off. Pure. */

import { finishedSince, type JobGrid, type Weighted } from './grid';

export interface Estimate {
  /** Seconds, the least and the most that follow from the pace so far and from the recent pace. */
  low: number;
  high: number;
}

/** Percent and seconds before which a pace says nothing. */
const LEAST_PERCENT = 1;
const LEAST_SECONDS = 3;
/** The recent pace covers this part of the time so far, at least a minute. */
const RECENT = 0.25;
const RECENT_LEAST = 60_000;

/** Estimate from when tasks finished. Null before there is a pace. */
export function estimate(grid: JobGrid, stages: readonly Weighted[], startedAt: number, now: number, percent: number): Estimate | null {
  const elapsed = (now - startedAt) / 1000;
  if (percent < LEAST_PERCENT || percent >= 100 || elapsed < LEAST_SECONDS) return null;
  const since = now - Math.max(RECENT_LEAST, RECENT * (now - startedAt));
  const overall = ((100 - percent) * elapsed) / percent;
  if (since <= startedAt) return { low: overall * 0.8, high: overall * 1.3 };
  const gained = percentSince(grid, stages, since);
  const recent = gained > 0 ? ((100 - percent) * (now - since)) / 1000 / gained : overall * 2;
  return { low: Math.min(overall, recent), high: Math.max(overall, recent) };
}

/** Percent of the job by tasks that finished after a time, and by those that run. */
function percentSince(grid: JobGrid, stages: readonly Weighted[], since: number): number {
  const whole = stages.reduce((sum, stage) => sum + stage.weight, 0);
  if (!whole) return 0;
  let gained = 0;
  for (const stage of stages) {
    const cells = grid.stages.get(stage.name);
    if (!cells?.size) continue;
    const finished = finishedSince(grid, cells, since);
    gained += (stage.weight * (finished + cells.runningPercent / 100)) / cells.size;
  }
  return (100 * gained) / whole;
}

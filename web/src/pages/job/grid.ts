/**
 * Every task of a job as columns, kept up to date by events. A change is applied when its version is newer than the known
 * one, so that nothing is counted twice; counts are moved with the cell that changes. Pure.
 */

import type { EventMessage, Progress } from '../../api/types';
import { decide } from '../../live/versions';

export const STATUS_ORDER = ['new', 'ready', 'running', 'done', 'error', 'skipped', 'cancelled'] as const;
export type CellStatus = (typeof STATUS_ORDER)[number];

/** The document of `/jobs/{id}/grid`. */
export interface GridDocument {
  job: number;
  version: number;
  now: number;
  statuses: string[];
  workers: string[];
  truncated: boolean;
  stages: GridStageDocument[];
}

export interface GridStageDocument {
  name: string;
  parts: number[] | null;
  status: number[];
  version: number[];
  worker: number[];
  attempt: number[];
  max_attempts: number | number[];
  lost: number[];
  percent: number[];
  ready_at: (number | null)[];
  claimed_at: (number | null)[];
  started_at: (number | null)[];
  finished_at: (number | null)[];
  isolated: number[];
}

/** The tasks of one stage. Times are milliseconds since 1970, 0 for none. */
export interface StageCells {
  name: string;
  size: number;
  /** The part of each cell; null when the cell's index is its part. */
  parts: readonly number[] | null;
  status: Uint8Array;
  version: Int32Array;
  worker: Int16Array;
  attempt: Uint16Array;
  maxAttempts: number;
  lost: Uint16Array;
  percent: Uint8Array;
  readyAt: Float64Array;
  claimedAt: Float64Array;
  finishedAt: Float64Array;
  /** Cells by status, in the order of `STATUS_ORDER`. */
  counts: number[];
  /** The sum of the percentages of running cells. */
  runningPercent: number;
}

export interface JobGrid {
  stages: Map<string, StageCells>;
  workers: string[];
  isTruncated: boolean;
  /** Grows with every change. */
  revision: number;
}

const RUNNING = STATUS_ORDER.indexOf('running');
const DONE = STATUS_ORDER.indexOf('done');
const ERROR = STATUS_ORDER.indexOf('error');
const SKIPPED = STATUS_ORDER.indexOf('skipped');

export function gridOf(document: GridDocument): JobGrid {
  const stages = new Map(document.stages.map((stage) => [stage.name, cellsOf(stage, document.statuses)]));
  return { stages, workers: [...document.workers], isTruncated: document.truncated, revision: 1 };
}

function cellsOf(stage: GridStageDocument, statuses: readonly string[]): StageCells {
  const order = statuses.map((status) => Math.max(0, (STATUS_ORDER as readonly string[]).indexOf(status)));
  const times = (values: readonly (number | null)[]) => Float64Array.from(values, (value) => value ?? 0);
  const limits = stage.max_attempts;
  const cells: StageCells = {
    name: stage.name,
    size: stage.status.length,
    parts: stage.parts,
    status: Uint8Array.from(stage.status, (status) => order[status] ?? 0),
    version: Int32Array.from(stage.version),
    worker: Int16Array.from(stage.worker),
    attempt: Uint16Array.from(stage.attempt),
    maxAttempts: typeof limits === 'number' ? limits : Math.max(0, ...limits.slice(0, 1)),
    lost: Uint16Array.from(stage.lost),
    percent: Uint8Array.from(stage.percent, (value) => Math.min(100, Math.round(value))),
    readyAt: times(stage.ready_at),
    claimedAt: times(stage.claimed_at),
    finishedAt: times(stage.finished_at),
    counts: [],
    runningPercent: 0,
  };
  recount(cells);
  return cells;
}

function recount(cells: StageCells): void {
  const counts = STATUS_ORDER.map(() => 0);
  let running = 0;
  for (let index = 0; index < cells.size; index++) {
    const status = cells.status[index] ?? 0;
    counts[status] = (counts[status] ?? 0) + 1;
    if (status === RUNNING) running += cells.percent[index] ?? 0;
  }
  cells.counts = counts;
  cells.runningPercent = running;
}

/** Return the index of the cell of a part; -1 when it is unknown. */
export function indexOf(cells: StageCells, part: number): number {
  if (!cells.parts) return part < cells.size ? part : -1;
  let low = 0;
  let high = cells.parts.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const found = cells.parts[middle] ?? 0;
    if (found === part) return middle;
    if (found < part) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

export function partOf(cells: StageCells, index: number): number {
  return cells.parts?.[index] ?? index;
}

export function workerOf(grid: JobGrid, name: string): number {
  const known = grid.workers.indexOf(name);
  return known >= 0 ? known : grid.workers.push(name) - 1;
}

/** Apply events and progress in place. Return whether the grid must be read again: tasks are unknown, or one was missed. */
export function applyToGrid(grid: JobGrid, events: readonly EventMessage[], progress: readonly Progress[]): boolean {
  let needsRead = false;
  let hasChanged = false;
  for (const event of events) {
    if (event.entity === 'stage') {
      // An opened stage has new tasks; how many wait for retries or have needs is only in the store.
      const cells = event.stage === null ? undefined : grid.stages.get(event.stage);
      const total = (event.data as { total?: number } | null)?.total;
      if (event.to === 'opened' && (!cells || cells.size !== (total ?? 0))) needsRead = true;
      continue;
    }
    if (event.entity !== 'task' || event.stage === null || event.part === null) continue;
    const cells = grid.stages.get(event.stage);
    const index = cells ? indexOf(cells, event.part) : -1;
    if (!cells || index < 0) {
      needsRead = true;
      continue;
    }
    const decision = decide(cells.version[index], event.version);
    if (decision === 'old') continue;
    if (decision === 'gap') needsRead = true;
    change(grid, cells, index, event);
    hasChanged = true;
  }
  for (const each of progress) {
    const cells = grid.stages.get(each.stage);
    const index = cells ? indexOf(cells, each.part) : -1;
    if (!cells || index < 0 || cells.status[index] !== RUNNING) continue;
    const percent = Math.min(100, Math.round(each.percent));
    cells.runningPercent += percent - (cells.percent[index] ?? 0);
    cells.percent[index] = percent;
    hasChanged = true;
  }
  if (hasChanged) grid.revision++;
  return needsRead;
}

function change(grid: JobGrid, cells: StageCells, index: number, event: EventMessage): void {
  const before = cells.status[index] ?? 0;
  const after = Math.max(0, (STATUS_ORDER as readonly string[]).indexOf(event.to));
  const at = new Date(event.at).getTime();
  if (before === RUNNING) {
    cells.runningPercent -= cells.percent[index] ?? 0;
    // A run that was given back or stopped does not count as an attempt.
    const isCounted = event.to !== 'new' && !(event.to === 'ready' && !event.actor.startsWith('keeper'));
    if (!isCounted) cells.attempt[index] = Math.max(0, (cells.attempt[index] ?? 0) - 1);
  }
  cells.counts[before] = (cells.counts[before] ?? 0) - 1;
  cells.counts[after] = (cells.counts[after] ?? 0) + 1;
  cells.status[index] = after;
  cells.version[index] = event.version;
  if (after === RUNNING) {
    cells.claimedAt[index] = at;
    cells.finishedAt[index] = 0;
    cells.percent[index] = 0;
    cells.attempt[index] = (cells.attempt[index] ?? 0) + 1;
    if (event.worker_name !== null) cells.worker[index] = workerOf(grid, event.worker_name);
  } else if (after === DONE || after === SKIPPED || after === ERROR) {
    cells.finishedAt[index] = at;
    if (after !== ERROR) cells.percent[index] = 100;
  } else if (event.to === 'ready') cells.readyAt[index] = at;
}

export interface Weighted {
  name: string;
  weight: number;
  opened_at: string | null;
  required: boolean;
}

/** The progress of the job in percent: stages count by weight, the tasks of a stage equally. */
export function progressOf(grid: JobGrid, stages: readonly Weighted[]): number {
  let whole = 0;
  let done = 0;
  for (const stage of stages) {
    whole += stage.weight;
    const cells = grid.stages.get(stage.name);
    if (!cells?.size) {
      if (stage.opened_at !== null) done += stage.weight;
      continue;
    }
    const failed = stage.required ? 0 : (cells.counts[ERROR] ?? 0);
    const finished = (cells.counts[DONE] ?? 0) + (cells.counts[SKIPPED] ?? 0) + failed;
    done += (stage.weight * (finished + cells.runningPercent / 100)) / cells.size;
  }
  return whole ? Math.min(100, (100 * done) / whole) : 0;
}

/** The cells of a status. */
export function countOf(cells: StageCells | undefined, status: CellStatus): number {
  return cells?.counts[STATUS_ORDER.indexOf(status)] ?? 0;
}

/** Ranges of parts, first and last of each, of sorted indexes. */
export function rangesOf(cells: StageCells, indexes: readonly number[]): [number, number][] {
  const ranges: [number, number][] = [];
  for (const index of [...indexes].sort((a, b) => a - b)) {
    const part = partOf(cells, index);
    const last = ranges.at(-1);
    if (last && last[1] === part - 1) last[1] = part;
    else ranges.push([part, part]);
  }
  return ranges;
}

/**
 * Every task of a job as columns, kept up to date by events. A change is applied when its version is newer than the known
 * one, so that nothing is counted twice; counts are moved with the cell that changes. Pure.
 */

import type { EventMessage, Progress } from '../../api/types';
import { decide } from '../../live/versions';

export const STATUS_ORDER = ['new', 'ready', 'running', 'done', 'error', 'skipped', 'cancelled'] as const;
export type CellStatus = (typeof STATUS_ORDER)[number];

/** The document of `/jobs/{id}/spans`. */
export interface SpansDocument {
  job: number;
  version: number;
  now: number;
  since: number | null;
  interval: number;
  statuses: string[];
  truncated: boolean;
  stages: StageSpansDocument[];
}

export interface StageSpansDocument {
  name: string;
  first: number[];
  last: number[];
  status: number[];
  version: number[];
  attempt: number[];
  max_attempts: number[];
  lost: number[];
  percent: number[];
  finished: number[];
}

/** What `/jobs/{id}/grid` adds for some parts of a stage. */
export interface CellsDocument {
  workers: string[];
  stages: {
    name: string;
    parts: number[] | null;
    version: number[];
    worker: number[];
    claimed_at: (number | null)[];
    finished_at: (number | null)[];
  }[];
}

/** The tasks of one stage. Times are milliseconds since 1970, 0 for none. */
export interface StageCells {
  name: string;
  size: number;
  /** The part of each cell; null when the cell's index is its part. */
  parts: Int32Array | null;
  status: Uint8Array;
  version: Int32Array;
  attempt: Uint16Array;
  maxAttempts: number;
  lost: Uint16Array;
  percent: Uint8Array;
  /** Whether the worker and the times of a cell are known; they are read for the cells that are looked at. */
  known: Uint8Array;
  worker: Int16Array;
  claimedAt: Float64Array;
  finishedAt: Float64Array;
  /** Cells by status, in the order of `STATUS_ORDER`. */
  counts: number[];
  /** The sum of the percentages of running cells. */
  runningPercent: number;
  /** Tasks that finished in each interval since the job started. */
  finished: number[];
}

export interface JobGrid {
  stages: Map<string, StageCells>;
  workers: string[];
  isTruncated: boolean;
  /** When the job started, and the milliseconds of an interval of `finished`. */
  since: number;
  interval: number;
  /** Grows with every change. */
  revision: number;
  /** Asks for the worker and the times of a cell that is looked at. */
  look: (cells: StageCells, index: number) => void;
}

const RUNNING = STATUS_ORDER.indexOf('running');
const DONE = STATUS_ORDER.indexOf('done');
const ERROR = STATUS_ORDER.indexOf('error');
const SKIPPED = STATUS_ORDER.indexOf('skipped');

/** Return the grid of a job. What is known of cells in `before` stays known where they are the same. */
export function gridOf(document: SpansDocument, before?: JobGrid, look: JobGrid['look'] = () => undefined): JobGrid {
  const stages = new Map(document.stages.map((stage) => [stage.name, cellsOf(stage, document.statuses)]));
  for (const cells of stages.values()) keepKnown(cells, before?.stages.get(cells.name));
  return {
    stages,
    workers: before?.workers ?? [],
    isTruncated: document.truncated,
    since: document.since ?? 0,
    interval: document.interval,
    revision: (before?.revision ?? 0) + 1,
    look,
  };
}

function cellsOf(stage: StageSpansDocument, statuses: readonly string[]): StageCells {
  const order = statuses.map((status) => Math.max(0, (STATUS_ORDER as readonly string[]).indexOf(status)));
  const spans = stage.first.map((first, index) => ({ first, last: stage.last[index] ?? first }));
  const size = spans.reduce((sum, { first, last }) => sum + last - first + 1, 0);
  const isWhole = !spans.length || (spans[0]?.first === 0 && spans.at(-1)?.last === size - 1);
  const cells: StageCells = {
    name: stage.name,
    size,
    parts: isWhole ? null : new Int32Array(size),
    status: new Uint8Array(size),
    version: new Int32Array(size),
    attempt: new Uint16Array(size),
    maxAttempts: stage.max_attempts[0] ?? 0,
    lost: new Uint16Array(size),
    percent: new Uint8Array(size),
    known: new Uint8Array(size),
    worker: new Int16Array(size).fill(-1),
    claimedAt: new Float64Array(size),
    finishedAt: new Float64Array(size),
    counts: STATUS_ORDER.map(() => 0),
    runningPercent: 0,
    finished: [...stage.finished],
  };
  let from = 0;
  for (const [index, { first, last }] of spans.entries()) {
    const to = from + last - first + 1;
    const status = order[stage.status[index] ?? 0] ?? 0;
    const percent = Math.min(100, Math.round(stage.percent[index] ?? 0));
    cells.status.fill(status, from, to);
    cells.version.fill(stage.version[index] ?? 1, from, to);
    cells.attempt.fill(stage.attempt[index] ?? 0, from, to);
    cells.lost.fill(stage.lost[index] ?? 0, from, to);
    cells.percent.fill(percent, from, to);
    cells.counts[status] = (cells.counts[status] ?? 0) + to - from;
    if (status === RUNNING) cells.runningPercent += percent * (to - from);
    if (cells.parts) for (let cell = from; cell < to; cell++) cells.parts[cell] = first + cell - from;
    from = to;
  }
  return cells;
}

function keepKnown(cells: StageCells, before: StageCells | undefined): void {
  if (!before) return;
  for (let index = 0; index < cells.size; index++) {
    const old = before.parts || cells.parts ? indexOf(before, partOf(cells, index)) : index;
    if (!before.known[old] || before.version[old] !== cells.version[index]) continue;
    cells.known[index] = 1;
    cells.worker[index] = before.worker[old] ?? -1;
    cells.claimedAt[index] = before.claimedAt[old] ?? 0;
    cells.finishedAt[index] = before.finishedAt[old] ?? 0;
  }
}

/** Add the workers and times of some parts. An event may have told a newer time already. */
export function addKnown(grid: JobGrid, document: CellsDocument): void {
  for (const stage of document.stages) {
    const cells = grid.stages.get(stage.name);
    if (!cells) continue;
    for (const [row, version] of stage.version.entries()) {
      const index = indexOf(cells, stage.parts?.[row] ?? row);
      if (index < 0 || cells.known[index]) continue;
      const isNewer = version >= (cells.version[index] ?? 0);
      const name = document.workers[stage.worker[row] ?? -1];
      cells.known[index] = 1;
      if (name !== undefined) cells.worker[index] = workerOf(grid, name);
      cells.claimedAt[index] = stage.claimed_at[row] ?? 0;
      if (isNewer || !cells.finishedAt[index]) cells.finishedAt[index] = stage.finished_at[row] ?? 0;
    }
  }
  grid.revision++;
}

/** Return the index of the cell of a part; -1 when it is unknown. */
export function indexOf(cells: StageCells, part: number): number {
  if (!cells.parts) return part >= 0 && part < cells.size ? part : -1;
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
    if (event.worker_name !== null) {
      cells.worker[index] = workerOf(grid, event.worker_name);
      cells.known[index] = 1;
    }
  } else if (after === DONE || after === SKIPPED || after === ERROR) {
    cells.finishedAt[index] = at;
    if (after === ERROR) return;
    cells.percent[index] = 100;
    countFinished(grid, cells, at);
  }
}

function countFinished(grid: JobGrid, cells: StageCells, at: number): void {
  if (!grid.since) return;
  const interval = Math.max(0, Math.floor((at - grid.since) / grid.interval));
  while (cells.finished.length <= interval) cells.finished.push(0);
  cells.finished[interval] = (cells.finished[interval] ?? 0) + 1;
}

/** Return the tasks of a stage that finished after a time; of the interval around it a part. */
export function finishedSince(grid: JobGrid, cells: StageCells, time: number): number {
  const at = Math.max(0, (time - grid.since) / grid.interval);
  const first = Math.floor(at);
  let finished = (cells.finished[first] ?? 0) * (first + 1 - at);
  for (let index = first + 1; index < cells.finished.length; index++) finished += cells.finished[index] ?? 0;
  return finished;
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

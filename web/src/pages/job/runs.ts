/** The runs of a job's tasks for the timeline: attempts with their worker, times and outcome. Pure. */

import type { EventMessage } from '../../api/types';

export const OUTCOMES = ['running', 'done', 'error', 'skipped', 'lost', 'released', 'cancelled'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** A page of `/jobs/{id}/attempts`. */
export interface RunsDocument {
  now: number;
  workers: string[];
  stages: string[];
  outcomes: string[];
  stage: number[];
  part: number[];
  token: number[];
  attempt: number[];
  worker: number[];
  start: number[];
  end: (number | null)[];
  outcome: number[];
  after: string | null;
}

/** Runs as columns that grow. Times are milliseconds since 1970; 0 is the end of a run that still runs. */
export class Runs {
  size = 0;
  readonly workers: string[] = [];
  readonly stages: string[] = [];
  stage = new Uint8Array(256);
  part = new Int32Array(256);
  token = new Int32Array(256);
  attempt = new Uint16Array(256);
  worker = new Int16Array(256);
  start = new Float64Array(256);
  end = new Float64Array(256);
  outcome = new Uint8Array(256);
  revision = 0;
  /** Runs by outcome, in the order of `OUTCOMES`. */
  readonly counts = OUTCOMES.map(() => 0);
  private first = Infinity;
  private last = -Infinity;
  /** The newest run of each part of each stage; `before` leads to the earlier ones of the part, -1 for none. */
  private readonly newest: Map<number, number>[] = [];
  private before = new Int32Array(256);
  private readonly open = new Set<number>();

  add(document: RunsDocument): void {
    const workers = document.workers.map((name) => indexIn(this.workers, name));
    const stages = document.stages.map((name) => indexIn(this.stages, name));
    const outcomes = document.outcomes.map((name) => Math.max(0, OUTCOMES.indexOf(name as Outcome)));
    for (let row = 0; row < document.part.length; row++) {
      const worker = document.worker[row] ?? -1;
      this.put(
        stages[document.stage[row] ?? 0] ?? 0,
        document.part[row] ?? 0,
        document.token[row] ?? 0,
        document.attempt[row] ?? 1,
        worker < 0 ? -1 : (workers[worker] ?? -1),
        document.start[row] ?? 0,
        document.end[row] ?? 0,
        outcomes[document.outcome[row] ?? 0] ?? 0,
      );
    }
    this.revision++;
  }

  /** Apply transitions of tasks: a claim begins a run, the next transition ends it. */
  apply(events: readonly EventMessage[]): void {
    for (const event of events) {
      if (event.entity !== 'task' || event.stage === null || event.part === null) continue;
      const stage = indexIn(this.stages, event.stage);
      const at = new Date(event.at).getTime();
      if (event.to === 'running') {
        const worker = event.worker_name === null ? -1 : indexIn(this.workers, event.worker_name);
        const known = this.find(stage, event.part, event.token ?? 0);
        if (known === undefined) this.put(stage, event.part, event.token ?? 0, this.attemptsOf(stage, event.part) + 1, worker, at, 0, 0);
      } else if (event.from === 'running') {
        const index = this.find(stage, event.part, event.token);
        if (index === undefined || this.end[index]) continue;
        this.end[index] = at;
        this.last = Math.max(this.last, at);
        this.setOutcome(index, OUTCOMES.indexOf(outcomeOf(event)));
        this.open.delete(index);
      }
    }
    this.revision++;
  }

  /** The first start and the last end; a run that still runs ends now. */
  span(now: number): [number, number] {
    if (!this.size) return [now - 1000, now];
    return [this.first, Math.max(this.last, this.open.size ? now : 0, this.first + 1)];
  }

  get running(): number {
    return this.open.size;
  }

  private setOutcome(index: number, outcome: number): void {
    const before = this.outcome[index] ?? 0;
    this.counts[before] = (this.counts[before] ?? 0) - 1;
    this.counts[outcome] = (this.counts[outcome] ?? 0) + 1;
    this.outcome[index] = outcome;
  }

  /** The runs of a part, newest first. */
  private *runsOf(stage: number, part: number): Generator<number> {
    for (let index = this.newest[stage]?.get(part) ?? -1; index >= 0; index = this.before[index] ?? -1) yield index;
  }

  private attemptsOf(stage: number, part: number): number {
    let attempts = 0;
    for (const index of this.runsOf(stage, part)) attempts = Math.max(attempts, this.attempt[index] ?? 0);
    return attempts;
  }

  /** The run of a part with a token; without one, the run that has not ended. */
  private find(stage: number, part: number, token: number | null): number | undefined {
    for (const index of this.runsOf(stage, part)) if (token === null ? !this.end[index] : this.token[index] === token) return index;
    return undefined;
  }

  private put(stage: number, part: number, token: number, attempt: number, worker: number, start: number, end: number, outcome: number): void {
    const known = this.find(stage, part, token);
    const index = known ?? this.size++;
    if (index >= this.part.length) this.grow();
    if (known === undefined) {
      const newest = (this.newest[stage] ??= new Map());
      this.before[index] = newest.get(part) ?? -1;
      newest.set(part, index);
      this.counts[0] = (this.counts[0] ?? 0) + 1;
    }
    this.setOutcome(index, outcome);
    this.stage[index] = stage;
    this.part[index] = part;
    this.token[index] = token;
    this.attempt[index] = attempt;
    this.worker[index] = worker;
    this.start[index] = start;
    this.first = Math.min(this.first, start);
    this.last = Math.max(this.last, end);
    this.end[index] = end;
    if (end) this.open.delete(index);
    else this.open.add(index);
  }

  private grow(): void {
    const size = this.part.length * 2;
    const larger = <T extends Uint8Array | Int32Array | Uint16Array | Int16Array | Float64Array>(made: T, old: T): T => {
      made.set(old);
      return made;
    };
    this.stage = larger(new Uint8Array(size), this.stage);
    this.part = larger(new Int32Array(size), this.part);
    this.token = larger(new Int32Array(size), this.token);
    this.before = larger(new Int32Array(size), this.before);
    this.attempt = larger(new Uint16Array(size), this.attempt);
    this.worker = larger(new Int16Array(size), this.worker);
    this.start = larger(new Float64Array(size), this.start);
    this.end = larger(new Float64Array(size), this.end);
    this.outcome = larger(new Uint8Array(size), this.outcome);
  }
}

/** Reasons of the keeper for a run that lost its worker. */
const LOST = ['lease expired', 'worker died'];

/** The outcome of a run, from the transition that ended it. */
function outcomeOf(event: EventMessage): Outcome {
  if (event.to === 'done' || event.to === 'skipped' || event.to === 'cancelled') return event.to;
  const role = event.actor.split(':')[0];
  if (role === 'keeper') return LOST.includes(event.reason ?? '') ? 'lost' : 'error';
  if (event.to === 'ready') return 'released';
  if (event.to === 'new') return role === 'worker' ? 'released' : 'cancelled';
  return 'error';
}

function indexIn(names: string[], name: string): number {
  const known = names.indexOf(name);
  return known >= 0 ? known : names.push(name) - 1;
}

export interface TimelineRow {
  worker: number;
  lane: number;
  /** Runs of this row by their start. */
  runs: number[];
  /** Milliseconds in which something ran. */
  busy: number;
}

/** The runs by their start. Start and index are packed into one number, which sorts ten times faster than by a function. */
function byStart(runs: Runs): Float64Array {
  const packed = new Float64Array(runs.size);
  const first = runs.size ? runs.span(0)[0] : 0;
  for (let index = 0; index < runs.size; index++) packed[index] = Math.round((runs.start[index] ?? 0) - first) * PACK + index;
  packed.sort();
  for (let position = 0; position < packed.length; position++) packed[position] = (packed[position] ?? 0) % PACK;
  return packed;
}

const RELEASED = OUTCOMES.indexOf('released');

/** More runs than a timeline has; times of two years still fit into the rest of a number. */
const PACK = 2 ** 20;

/** Milliseconds by which a run may begin before the one on its lane has ended: an outcome is recorded after the slot is free. */
const MAX_OVERLAP = 300;

/**
 * Assign runs to rows: each worker has as many lanes as it ran tasks at once. Runs are taken by their start, each on the
 * first lane that is free.
 */
export function layoutTimeline(runs: Runs, now: number): TimelineRow[] {
  const lanes = new Map<number, { rows: TimelineRow[]; free: number[] }>();
  for (const index of byStart(runs)) {
    const worker = runs.worker[index] ?? -1;
    let of = lanes.get(worker);
    if (!of) {
      of = { rows: [], free: [] };
      lanes.set(worker, of);
    }
    const start = runs.start[index] ?? 0;
    const end = runs.end[index] || now;
    const lateness = Math.min(MAX_OVERLAP, (end - start) * 0.1);
    let lane = of.free.findIndex((free) => free <= start + lateness);
    // A task that was given back at once is counted, but it opens no lane.
    if (lane < 0 && runs.outcome[index] === RELEASED && end - start < MAX_OVERLAP) continue;
    if (lane < 0) {
      lane = of.rows.length;
      of.rows.push({ worker, lane, runs: [], busy: 0 });
    }
    of.free[lane] = runs.end[index] ? end : Infinity;
    const row = of.rows[lane];
    if (!row) continue;
    row.runs.push(index);
    row.busy += end - start;
  }
  const names = (worker: number) => runs.workers[worker] ?? '';
  return [...lanes.entries()].sort(([a], [b]) => names(a).localeCompare(names(b), 'en', { numeric: true })).flatMap(([, of]) => of.rows);
}

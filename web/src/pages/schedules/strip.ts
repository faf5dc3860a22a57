/** The calendar strip of a schedule: what ran and what will run, on a line of time. Pure. */

export interface StripItem {
  /** Milliseconds since 1970. */
  at: number;
  kind: 'run' | 'next';
  /** The tone's status of a run: completed, failed, skipped, … */
  status: string;
  label: string;
  /** The job of a run, if it has one. */
  job: string | null;
}

export interface StripMark {
  /** Percent of the width. */
  left: number;
  items: StripItem[];
  /** The status that is shown: the one that most needs to be seen. */
  status: string;
  kind: 'run' | 'next';
}

export interface StripTick {
  left: number;
  label: string;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
export const RANGES = [
  { id: 'hour', label: '1 hour', before: HOUR / 2, after: HOUR / 2, step: 10 * MINUTE },
  { id: 'day', label: '1 day', before: 12 * HOUR, after: 12 * HOUR, step: 4 * HOUR },
  { id: 'week', label: '1 week', before: 3.5 * DAY, after: 3.5 * DAY, step: DAY },
  { id: 'month', label: '1 month', before: 15 * DAY, after: 15 * DAY, step: 5 * DAY },
] as const;
export type Range = (typeof RANGES)[number];

/** What hides the others where several marks fall on one place. */
const URGENCY = ['failed', 'quarantined', 'missed', 'running', 'pending', 'skipped', 'cancelled', 'completed'];
const urgency = (status: string) => {
  const found = URGENCY.indexOf(status);
  return found < 0 ? URGENCY.length : found;
};

/** Place items on the strip; those nearer than `gap` percent share one mark. */
export function layoutStrip(items: readonly StripItem[], now: number, range: Pick<Range, 'before' | 'after'>, gap = 3.6): StripMark[] {
  const start = now - range.before;
  const span = range.before + range.after;
  const marks: StripMark[] = [];
  const sorted = items.filter((item) => item.at >= start && item.at <= start + span).sort((a, b) => a.at - b.at);
  for (const item of sorted) {
    const left = ((item.at - start) / span) * 100;
    const last = marks.at(-1);
    if (last && last.kind === item.kind && left - last.left < gap) {
      last.items.push(item);
      if (urgency(item.status) < urgency(last.status)) last.status = item.status;
    } else marks.push({ left, items: [item], status: item.status, kind: item.kind });
  }
  return marks;
}

/** Return the labelled times of a strip: round ones in the reader's zone. */
export function ticksOf(now: number, range: Range, offset = new Date(now).getTimezoneOffset() * MINUTE): StripTick[] {
  const start = now - range.before;
  const span = range.before + range.after;
  const first = Math.ceil((start - offset) / range.step) * range.step + offset;
  const ticks: StripTick[] = [];
  for (let at = first; at < start + span; at += range.step) ticks.push({ left: ((at - start) / span) * 100, label: labelOf(at, range) });
  return ticks;
}

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const day = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric' });

function labelOf(at: number, range: Range): string {
  return range.step >= DAY ? day.format(at) : clock.format(at);
}

interface Run {
  tick: string;
  outcome: string;
  job_id: number | null;
  job_status: string | null;
  reason: string | null;
  source: string;
}

/** Return the status that a run is shown with: that of its job, else its outcome. */
export function statusOfRun(run: Pick<Run, 'outcome' | 'job_status'>): string {
  if (run.job_status) return run.job_status;
  if (run.outcome === 'queued') return 'pending';
  if (run.outcome === 'missed') return 'cancelled';
  return run.outcome === 'submitted' ? 'completed' : run.outcome;
}

export function itemsOf(schedule: { runs: readonly Run[]; upcoming: readonly string[] }): StripItem[] {
  const runs = schedule.runs.map((run): StripItem => {
    const status = statusOfRun(run);
    return { at: Date.parse(run.tick), kind: 'run', status, label: `${run.source}: ${run.job_status ?? run.outcome}${run.reason ? ` (${run.reason})` : ''}`, job: run.job_id === null ? null : String(run.job_id) };
  });
  return [...runs, ...schedule.upcoming.map((tick): StripItem => ({ at: Date.parse(tick), kind: 'next', status: 'pending', label: 'next', job: null }))];
}

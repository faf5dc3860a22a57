import { now } from '../clock';
import { duration, exactTime, relative } from '../format';

/** A time, relative to now; hovering shows the exact one in the reader's zone. */
export function Time({ at, absent = '–' }: { at: string | number | null | undefined; absent?: string }) {
  if (at === null || at === undefined) return <span class="muted">{absent}</span>;
  const time = new Date(at);
  return (
    <time dateTime={time.toISOString()} title={exactTime(time.getTime())} class="nowrap">
      {relative(time.getTime(), now.value)}
    </time>
  );
}

/** The time between two moments; without an end it runs. */
export function Elapsed({ from, to }: { from: string | number | null | undefined; to?: string | number | null | undefined }) {
  if (from === null || from === undefined) return <span class="muted">–</span>;
  const start = new Date(from).getTime();
  const end = to === null || to === undefined ? now.value : new Date(to).getTime();
  return <span class="nowrap">{duration(Math.max(0, end - start) / 1000)}</span>;
}

/** Numbers and times as the page shows them. Pure, apart from the reader's language and zone. */

const integer = new Intl.NumberFormat('en');
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
const exact = new Intl.DateTimeFormat(undefined, {
  weekday: 'short',
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
  hourCycle: 'h23',
  timeZoneName: 'short',
});
const day = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', year: 'numeric' });

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;

/** `1234567` → `1,234,567`. */
export function number(value: number): string {
  return integer.format(value);
}

/** A count that stopped at a cap is shown as `10,000+`. */
export function count(value: number, isCapped = false): string {
  return isCapped ? `${number(value)}+` : number(value);
}

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

/** A number for a small place: `9,876`, `12.3K`, `1M`. */
export function shortNumber(value: number): string {
  return value < 10_000 ? integer.format(value) : compact.format(value);
}

/** `1 job`, `2 jobs`. */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${number(value)} ${value === 1 ? one : many}`;
}

/** Seconds as the two largest units: `0.4 s`, `42 s`, `3 min 5 s`, `2 h 10 min`, `4 d 3 h`. */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds) || seconds < 0) return '–';
  if (seconds === 0) return '0 s';
  if (seconds < 0.0995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < MINUTE) return `${whole} s`;
  const [large, unit, small, part] =
    whole < HOUR
      ? [MINUTE, 'min', 1, 's']
      : whole < DAY
        ? [HOUR, 'h', MINUTE, 'min']
        : ([DAY, 'd', HOUR, 'h'] as const);
  const head = Math.floor(whole / Number(large));
  const tail = Math.floor((whole % Number(large)) / Number(small));
  return tail ? `${head} ${unit} ${tail} ${part}` : `${head} ${unit}`;
}

/** The time from `now` to `then`, both in milliseconds, in one unit: `now`, `12 s ago`, `in 3 min`, `5 h ago`, `8 d ago`. */
export function relative(then: number, now: number): string {
  const seconds = Math.round((then - now) / 1000);
  const size = Math.abs(seconds);
  if (size < 2) return 'now';
  const text =
    size < MINUTE
      ? `${size} s`
      : size < HOUR
        ? `${Math.floor(size / MINUTE)} min`
        : size < DAY
          ? `${Math.floor(size / HOUR)} h`
          : size < 60 * DAY
            ? `${Math.floor(size / DAY)} d`
            : null;
  if (text === null) return day.format(then);
  return seconds < 0 ? `${text} ago` : `in ${text}`;
}

/** The exact time in the reader's zone. */
export function exactTime(time: number | string): string {
  return exact.format(new Date(time));
}

/** The time of day in the reader's zone. */
export function clockTime(time: number | string): string {
  return clock.format(new Date(time));
}

/** Bytes with a decimal unit: `512 B`, `1.4 MB`. */
export function bytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  let size = value;
  let unit = 0;
  while (size >= 999.5 && unit < units.length - 1) {
    size /= 1000;
    unit++;
  }
  return `${unit === 0 || size >= 99.95 ? Math.round(size) : size.toFixed(1)} ${units[unit] ?? ''}`;
}

/** Bits per second: `850 kbit/s`, `2.4 Mbit/s`. */
export function bitrate(value: number): string {
  return value < 999_500 ? `${Math.round(value / 1000)} kbit/s` : `${(value / 1_000_000).toFixed(1)} Mbit/s`;
}

/** Percent without decimals; 100 only when everything is done. */
export function percent(value: number): string {
  return `${value >= 100 ? 100 : Math.min(99, Math.floor(value))} %`;
}

/** The first characters of a digest. */
export function shortDigest(digest: string): string {
  return digest.slice(0, 10);
}

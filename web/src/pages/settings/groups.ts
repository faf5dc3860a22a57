/** How settings are grouped and written. Pure. */

import { bytes, duration, number } from '../../format';

const PATTERNS: readonly [group: string, pattern: RegExp][] = [
  ['Store', /^(database|migrate)/],
  ['Dispatch', /^(dispatch|redis)/],
  ['Workers', /^(app$|worker|heartbeat|poll$|gpu_|wants_|ffmpeg|sandbox|scratch|source_cache|metrics_port|metrics_host)/],
  ['Remote workers', /^(server_|remote_|instances_)/],
  ['Keeper', /^(orchestrate|schedules|sweep|stale|stall|keeper|check_|prune)/],
  ['Archive and retention', /^(archive|retention|keep_)/],
  ['Storage and inputs', /^(storage|input_|upload_)/],
  ['HTTP', /^(serve|tls|state_dir|key_|rate_|read_timeout|streams|body_|public|prefix|proxy|trusted|metrics_access)/],
  ['Webhooks and alerts', /^(webhook|alert|callback)/],
];
const OTHER = 'Other';
export const GROUPS: readonly string[] = [...PATTERNS.map(([group]) => group), OTHER];

/** Return the group of a setting by its name. */
export function groupOf(name: string): string {
  return PATTERNS.find(([, pattern]) => pattern.test(name))?.[0] ?? OTHER;
}

const BYTES = /(limit|quota|cache)$/;

/** Return a value with its unit: floats of settings are seconds, large whole numbers of limits are bytes. */
export function shownValue(setting: { name: string; value: string | number; meaning: string }): string {
  const { value, meaning } = setting;
  if (value === '') return 'not set';
  if (typeof value !== 'number') return value;
  const isTime = /^(How often|How long|Seconds|Longest|Timeout|A pause)/.test(meaning);
  if (isTime && value >= 120) return `${number(value)} s (${duration(value)})`;
  if (isTime) return `${value} s`;
  if (value >= 1_000_000 && BYTES.test(setting.name)) return `${number(value)} (${bytes(value)})`;
  return number(value);
}

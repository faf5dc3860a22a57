/** Limits as sentences, and the weights of keys as text. Pure. */

import type { Limit } from '../../api/types';

type Terms = Pick<Limit, 'pipeline' | 'stage' | 'user_id' | 'per' | 'running' | 'starts' | 'period'>;

/** Return what a limit says, such as `4 running per spec.customer in transcode.encode`, as `reel limits` does. */
export function sentenceOf(limit: Terms): string {
  const numbers: string[] = [];
  if (limit.running !== null) numbers.push(`${limit.running} running`);
  if (limit.starts !== null) numbers.push(`${limit.starts} starts in ${limit.period} s`);
  const parts = [numbers.join(' and ') || 'turns'];
  if (limit.per) parts.push(`per ${limit.per}`);
  if (limit.pipeline) parts.push(`in ${limit.pipeline}${limit.stage ? `.${limit.stage}` : ''}`);
  if (limit.user_id) parts.push(`for user ${limit.user_id}`);
  return parts.join(' ');
}

/** Return weights as lines of `KEY=NUMBER`. */
export function weightsText(weights: Limit['weights']): string {
  return Object.entries(weights)
    .map(([key, weight]) => `${key}=${weight}`)
    .join('\n');
}

/** Parse lines of `KEY=NUMBER`; return the first line that is none as `refused`. A key may contain `=`. */
export function parseWeights(text: string): { weights: Limit['weights'] } | { refused: string } {
  const weights = new Map<string, number>();
  for (const line of text.split('\n').map((each) => each.trim())) {
    if (!line) continue;
    const [, key = '', number = ''] = /^(.+)=\s*(\d+(?:\.\d+)?|\.\d+)$/.exec(line) ?? [];
    if (!key.trim()) return { refused: line };
    weights.set(key.trim(), Number(number));
  }
  return { weights: Object.fromEntries(weights) };
}

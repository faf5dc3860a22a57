import { describe, expect, it } from 'vitest';
import { parseWeights, sentenceOf, weightsText } from '../src/pages/limits/limit';

const NONE = { pipeline: null, stage: null, user_id: null, per: null, running: null, starts: null, period: null };

describe('a limit', () => {
  it('is a sentence', () => {
    expect(sentenceOf({ ...NONE, running: 4, per: 'spec.customer', pipeline: 'transcode', stage: 'encode' })).toBe('4 running per spec.customer in transcode.encode');
    expect(sentenceOf({ ...NONE, running: 2, starts: 100, period: 60, user_id: 'ada' })).toBe('2 running and 100 starts in 60 s for user ada');
    expect(sentenceOf({ ...NONE, per: 'user', pipeline: 'transcode' })).toBe('turns per user in transcode');
  });

  it('has weights as lines', () => {
    expect(parseWeights('ada=2\n\n a=b = 0.5 \n__proto__=3')).toEqual({ weights: Object.fromEntries([['ada', 2], ['a=b', 0.5], ['__proto__', 3]]) });
    expect(parseWeights(weightsText({ ada: 2, 'a=b': 0.5 }))).toEqual({ weights: { ada: 2, 'a=b': 0.5 } });
    expect(parseWeights('')).toEqual({ weights: {} });
    for (const refused of ['ada', '=2', 'ada=', 'ada=-1', 'ada=x']) expect(parseWeights(`bob=1\n${refused}`)).toEqual({ refused });
  });
});

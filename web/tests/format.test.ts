import { describe, expect, test } from 'vitest';
import { bitrate, bytes, count, duration, percent, plural, relative } from '../src/format';

describe('durations', () => {
  test.each([
    [0, '0 s'],
    [0.0123, '12 ms'],
    [0.4, '0.4 s'],
    [9.94, '9.9 s'],
    [9.96, '10 s'],
    [59.4, '59 s'],
    [59.6, '1 min'],
    [185, '3 min 5 s'],
    [3600, '1 h'],
    [7_805, '2 h 10 min'],
    [90_000, '1 d 1 h'],
    [Number.NaN, '–'],
    [-1, '–'],
  ])('%d seconds are %s', (seconds, text) => expect(duration(seconds)).toBe(text));
});

describe('relative times', () => {
  const now = Date.UTC(2026, 5, 1, 12);
  test.each([
    [0, 'now'],
    [-1_400, 'now'],
    [-12_000, '12 s ago'],
    [-60_000, '1 min ago'],
    [-3 * 3_600_000, '3 h ago'],
    [-86_400_000 * 8, '8 d ago'],
    [180_000, 'in 3 min'],
  ])('%d milliseconds from now is %s', (offset, text) => expect(relative(now + offset, now)).toBe(text));

  test('what is long ago has its date', () => expect(relative(now - 86_400_000 * 100, now)).toMatch(/2026/));
});

test('numbers are grouped, and a capped count says so', () => {
  expect(count(10_000, true)).toBe('10,000+');
  expect(count(1234)).toBe('1,234');
  expect(plural(1, 'job')).toBe('1 job');
  expect(plural(2000, 'job')).toBe('2,000 jobs');
});

test('sizes have decimal units', () => {
  expect(bytes(512)).toBe('512 B');
  expect(bytes(1_440_000)).toBe('1.4 MB');
  expect(bytes(999_900)).toBe('1.0 MB');
  expect(bitrate(850_000)).toBe('850 kbit/s');
  expect(bitrate(2_400_000)).toBe('2.4 Mbit/s');
});

test('100 percent means that everything is done', () => {
  expect(percent(99.99)).toBe('99 %');
  expect(percent(100)).toBe('100 %');
});

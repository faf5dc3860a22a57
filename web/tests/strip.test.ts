import { describe, expect, it } from 'vitest';
import { itemsOf, layoutStrip, RANGES, statusOfRun, ticksOf, type StripItem } from '../src/pages/schedules/strip';

const HOUR = 3_600_000;
const NOW = Date.parse('2026-11-18T20:00:00Z');
const item = (at: number, status = 'completed', kind: 'run' | 'next' = 'run'): StripItem => ({ at, kind, status, label: '', job: null });
const DAY = RANGES[1];

describe('the strip of a schedule', () => {
  it('places runs left of now and ticks right of it', () => {
    const marks = layoutStrip([item(NOW - 6 * HOUR), item(NOW + 6 * HOUR, 'pending', 'next')], NOW, DAY);
    expect(marks.map((mark) => [mark.left, mark.kind])).toEqual([[25, 'run'], [75, 'next']]);
  });

  it('leaves out what is not in the shown time', () => {
    expect(layoutStrip([item(NOW - 13 * HOUR), item(NOW + 13 * HOUR)], NOW, DAY)).toEqual([]);
  });

  it('joins marks that would hide each other, and shows the failure among them', () => {
    const marks = layoutStrip([item(NOW - HOUR), item(NOW - HOUR + 60_000, 'failed'), item(NOW - HOUR + 120_000)], NOW, DAY);
    expect(marks.map((mark) => [mark.items.length, mark.status])).toEqual([[3, 'failed']]);
  });

  it('never joins a run with a tick to come', () => {
    expect(layoutStrip([item(NOW - 1000), item(NOW + 1000, 'pending', 'next')], NOW, DAY)).toHaveLength(2);
  });

  it('has round times of the zone', () => {
    expect(ticksOf(NOW + 123_000, DAY, -HOUR).map((tick) => tick.label)).toEqual(['12:00', '16:00', '20:00', '00:00', '04:00', '08:00']);
    for (const range of RANGES) for (const tick of ticksOf(NOW, range)) expect(tick.left >= 0 && tick.left < 100).toBe(true);
  });

  it('shows a run by the status of its job, or by its outcome', () => {
    expect(statusOfRun({ outcome: 'submitted', job_status: 'failed' })).toBe('failed');
    expect(['submitted', 'queued', 'skipped', 'missed', 'failed'].map((outcome) => statusOfRun({ outcome, job_status: null }))).toEqual(['completed', 'pending', 'skipped', 'cancelled', 'failed']);
    const run = { tick: '2026-11-18T19:00:00Z', outcome: 'submitted', job_id: 7, job_status: 'failed', reason: 'late', source: 'tick' };
    expect(itemsOf({ runs: [run], upcoming: ['2026-11-18T21:00:00Z'] })).toMatchObject([{ job: '7', label: 'tick: failed (late)' }, { kind: 'next', at: NOW + HOUR }]);
  });
});

it('marks with a count do not cover each other', () => {
  const many = Array.from({ length: 40 }, (_, index) => item(NOW + index * 15 * 60_000, 'pending', 'next'));
  const marks = layoutStrip(many, NOW, DAY);
  for (const [index, mark] of marks.entries()) if (index) expect(mark.left - (marks[index - 1]?.left ?? 0)).toBeGreaterThanOrEqual(3.6);
  expect(marks.reduce((sum, mark) => sum + mark.items.length, 0)).toBe(40);
});

import { describe, expect, test } from 'vitest';
import { firstVisible, runAt, ticksOf, LABEL, AXIS } from '../src/pages/job/draw';
import { layoutTimeline, OUTCOMES, Runs, type RunsDocument } from '../src/pages/job/runs';
import { START, taskEvent } from './events';

interface Row {
  part: number;
  worker: number;
  start: number;
  end: number | null;
  token?: number;
}

function documentOf(rows: readonly Row[]): RunsDocument {
  return {
    now: START,
    workers: ['w1', 'w2', 'w10'],
    stages: ['encode'],
    outcomes: [...OUTCOMES],
    stage: rows.map(() => 0),
    part: rows.map((row) => row.part),
    token: rows.map((row) => row.token ?? 1),
    attempt: rows.map((row) => row.token ?? 1),
    worker: rows.map((row) => row.worker),
    start: rows.map((row) => row.start),
    end: rows.map((row) => row.end),
    outcome: rows.map((row) => (row.end === null ? 0 : 1)),
    after: null,
  };
}

function runsOf(rows: readonly Row[]): Runs {
  const runs = new Runs();
  runs.add(documentOf(rows));
  return runs;
}

describe('lanes', () => {
  test('runs that overlap are on lanes of their own, others share one', () => {
    const rows = layoutTimeline(
      runsOf([
        { part: 0, worker: 0, start: 0, end: 10_000 },
        { part: 1, worker: 0, start: 2_000, end: 8_000 },
        { part: 2, worker: 0, start: 9_000, end: 20_000 },
        { part: 3, worker: 0, start: 10_000, end: 12_000 },
      ]),
      20_000,
    );
    expect(rows.map((row) => row.runs)).toEqual([
      [0, 3],
      [1, 2],
    ]);
  });

  test('a run that begins a moment before its lane is free does not open another', () => {
    const rows = layoutTimeline(
      runsOf([
        { part: 0, worker: 0, start: 0, end: 10_000 },
        { part: 1, worker: 0, start: 9_900, end: 20_000 },
      ]),
      20_000,
    );
    expect(rows).toHaveLength(1);
  });

  test('a task that is given back at once opens no lane', () => {
    const runs = runsOf([
      { part: 0, worker: 0, start: 0, end: 10_000 },
      { part: 1, worker: 0, start: 100, end: 130 },
    ]);
    runs.outcome[1] = OUTCOMES.indexOf('released');
    expect(layoutTimeline(runs, 10_000)).toHaveLength(1);
    runs.outcome[1] = OUTCOMES.indexOf('error');
    expect(layoutTimeline(runs, 10_000)).toHaveLength(2);
  });

  test('a run that still runs keeps its lane', () => {
    const rows = layoutTimeline(
      runsOf([
        { part: 0, worker: 0, start: 0, end: null },
        { part: 1, worker: 0, start: 5_000, end: 6_000 },
      ]),
      5_500,
    );
    expect(rows).toHaveLength(2);
  });

  test('workers are sorted as people count', () => {
    const rows = layoutTimeline(
      runsOf([
        { part: 0, worker: 2, start: 0, end: 1 },
        { part: 1, worker: 1, start: 0, end: 1 },
        { part: 2, worker: 0, start: 0, end: 1 },
      ]),
      1,
    );
    expect(rows.map((row) => row.worker)).toEqual([0, 1, 2]);
  });

  test('100,000 runs are laid out without overlap', () => {
    const many = Array.from({ length: 100_000 }, (_, part) => ({ part, worker: part % 3, start: Math.floor(part / 12) * 1000, end: Math.floor(part / 12) * 1000 + 900 }));
    const runs = runsOf(many);
    const rows = layoutTimeline(runs, 10_000_000);
    expect(rows).toHaveLength(12);
    for (const row of rows) {
      for (let index = 1; index < row.runs.length; index++) {
        const before = row.runs[index - 1] ?? 0;
        const after = row.runs[index] ?? 0;
        if ((runs.end[before] ?? 0) > (runs.start[after] ?? 0)) throw new Error(`runs ${before} and ${after} overlap`);
      }
    }
    const row = rows[0];
    const first = row && firstVisible(runs, row, 5_000_000, 10_000_000);
    expect(runs.end[row?.runs[first ?? 0] ?? 0]).toBeGreaterThanOrEqual(5_000_000);
    expect(runs.end[row?.runs[(first ?? 0) - 1] ?? 0]).toBeLessThan(5_000_000);
  });
});

describe('events', () => {
  const at = (seconds: number) => new Date(START + seconds * 1000).toISOString();

  test('a claim begins a run, and what follows ends it', () => {
    const runs = new Runs();
    runs.apply([
      taskEvent('encode', 0, 2, 'ready', 'running', { worker_name: 'w1', token: 1, at: at(0) }),
      taskEvent('encode', 0, 3, 'running', 'ready', { actor: 'keeper', reason: 'lease expired', token: 1, at: at(5) }),
      taskEvent('encode', 0, 4, 'ready', 'running', { worker_name: 'w2', token: 2, at: at(6) }),
    ]);
    expect(runs.size).toBe(2);
    expect(OUTCOMES[runs.outcome[0] ?? 0]).toBe('lost');
    expect([runs.start[0], runs.end[0]]).toEqual([START, START + 5000]);
    expect([OUTCOMES[runs.outcome[1] ?? 0], runs.end[1], runs.attempt[1]]).toEqual(['running', 0, 2]);
    expect(runs.running).toBe(1);
  });

  test('a run that was read is not made again by its event', () => {
    const runs = runsOf([{ part: 0, worker: 0, start: START, end: null }]);
    runs.apply([taskEvent('encode', 0, 2, 'ready', 'running', { token: 1 }), taskEvent('encode', 0, 3, 'running', 'done', { token: 1, at: at(1) })]);
    expect(runs.size).toBe(1);
    expect(OUTCOMES[runs.outcome[0] ?? 0]).toBe('done');
    expect(runs.running).toBe(0);
  });
});

test('a pixel leads to the run below it', () => {
  const runs = runsOf([
    { part: 0, worker: 0, start: 0, end: 400 },
    { part: 1, worker: 0, start: 600, end: 1000 },
  ]);
  const rows = layoutTimeline(runs, 1000);
  const view = { from: 0, to: 1000 };
  const x = (time: number) => LABEL + (time / 1000) * (1118 - LABEL);
  expect(runAt(runs, rows, view, 1118, x(200), AXIS + 5, 0, 1000)).toBe(0);
  expect(runAt(runs, rows, view, 1118, x(500), AXIS + 5, 0, 1000)).toBe(-1);
  expect(runAt(runs, rows, view, 1118, x(800), AXIS + 5, 0, 1000)).toBe(1);
});

test('ticks are round and not crowded', () => {
  expect(ticksOf({ from: START + 1, to: START + 60_000 }, 600)).toEqual([START + 10_000, START + 20_000, START + 30_000, START + 40_000, START + 50_000]);
  expect(ticksOf({ from: 0, to: 1e12 }, 1000).length).toBeLessThan(101);
});

import { describe, expect, test } from 'vitest';
import { cellAt, layoutCells, placeOf } from '../src/pages/job/cells';
import { estimate } from '../src/pages/job/estimate';
import { applyToGrid, countOf, gridOf, progressOf, rangesOf, type GridDocument } from '../src/pages/job/grid';
import { eventOf, progressOfTask, START, taskEvent } from './events';

function documentOf(size: number, status = 1): GridDocument {
  const fill = <T>(value: T) => Array.from({ length: size }, () => value);
  return {
    job: 7,
    version: 1,
    now: START,
    statuses: ['new', 'ready', 'running', 'done', 'error', 'skipped', 'cancelled'],
    workers: ['w1'],
    truncated: false,
    stages: [
      {
        name: 'encode',
        parts: null,
        status: fill(status),
        version: fill(1),
        worker: fill(-1),
        attempt: fill(0),
        max_attempts: 3,
        lost: fill(0),
        percent: fill(0),
        ready_at: fill(START),
        claimed_at: fill(null),
        started_at: fill(null),
        finished_at: fill(null),
        isolated: fill(0),
      },
    ],
  };
}
const encode = (size = 4) => {
  const grid = gridOf(documentOf(size));
  const cells = grid.stages.get('encode');
  if (!cells) throw new Error('no stage');
  return { grid, cells };
};
const STAGES = [{ name: 'encode', weight: 1, opened_at: 'x', required: true }];

describe('the grid of a job', () => {
  test('a claim and a result move the counts', () => {
    const { grid, cells } = encode();
    applyToGrid(grid, [taskEvent('encode', 2, 2, 'ready', 'running', { worker_name: 'w2' })], []);
    expect([countOf(cells, 'ready'), countOf(cells, 'running')]).toEqual([3, 1]);
    expect(grid.workers[cells.worker[2] ?? -1]).toBe('w2');
    applyToGrid(grid, [taskEvent('encode', 2, 3, 'running', 'done')], []);
    expect([countOf(cells, 'ready'), countOf(cells, 'running'), countOf(cells, 'done')]).toEqual([3, 0, 1]);
  });

  test('an event that the snapshot has already is not counted again', () => {
    const { grid, cells } = encode();
    const claim = taskEvent('encode', 0, 2, 'ready', 'running');
    applyToGrid(grid, [claim, claim], []);
    applyToGrid(grid, [claim], []);
    expect([countOf(cells, 'ready'), countOf(cells, 'running'), cells.attempt[0]]).toEqual([3, 1, 1]);
  });

  test('a missing version asks for the grid, and the newest state is shown meanwhile', () => {
    const { grid, cells } = encode();
    expect(applyToGrid(grid, [taskEvent('encode', 0, 5, 'running', 'done')], [])).toBe(true);
    expect([countOf(cells, 'ready'), countOf(cells, 'done')]).toEqual([3, 1]);
  });

  test('an unknown task and an opened stage ask for the grid', () => {
    const { grid } = encode();
    expect(applyToGrid(grid, [taskEvent('encode', 9, 2, 'ready', 'running')], [])).toBe(true);
    expect(applyToGrid(grid, [eventOf({ entity: 'stage', job: 7, stage: 'package', to: 'opened', data: { total: 1 } })], [])).toBe(true);
    expect(applyToGrid(grid, [eventOf({ entity: 'stage', job: 7, stage: 'encode', to: 'opened', data: { total: 4 } })], [])).toBe(false);
  });

  test('progress moves the progress of the job, and that of a task that does not run is ignored', () => {
    const { grid } = encode();
    applyToGrid(grid, [taskEvent('encode', 0, 2, 'ready', 'running')], [progressOfTask('encode', 0, 50), progressOfTask('encode', 1, 90)]);
    expect(progressOf(grid, STAGES)).toBe(12.5);
    applyToGrid(grid, [taskEvent('encode', 0, 3, 'running', 'done')], []);
    expect(progressOf(grid, STAGES)).toBe(25);
  });

  test('a released run does not count as an attempt, a lost one does', () => {
    const { grid, cells } = encode();
    applyToGrid(grid, [taskEvent('encode', 0, 2, 'ready', 'running'), taskEvent('encode', 0, 3, 'running', 'ready')], []);
    expect(cells.attempt[0]).toBe(0);
    applyToGrid(grid, [taskEvent('encode', 1, 2, 'ready', 'running'), taskEvent('encode', 1, 3, 'running', 'ready', { actor: 'keeper' })], []);
    expect(cells.attempt[1]).toBe(1);
  });

  test('selected cells become ranges of parts', () => {
    const { cells } = encode(10);
    expect(rangesOf(cells, [9, 3, 4, 5, 1])).toEqual([
      [1, 1],
      [3, 5],
      [9, 9],
    ]);
  });
});

describe('the layout of cells', () => {
  test.each([1, 7, 60, 500, 5000, 100_000])('every one of %d cells is found where it is drawn, inside the width', (size) => {
    for (const rungs of [1, 3]) {
      for (const width of [300, 1180]) {
        const layout = layoutCells(size, rungs, width);
        for (const index of new Set([0, Math.floor(size / 2), size - 1])) {
          const { x, y } = placeOf(layout, index, rungs - 1);
          expect(x + layout.cellWidth).toBeLessThanOrEqual(width);
          expect(y + layout.cellHeight).toBeLessThanOrEqual(layout.height + 1);
          expect(cellAt(layout, size, x + 1, y + 1)).toEqual({ index, rung: rungs - 1 });
        }
      }
    }
  });
});

describe('the remaining time', () => {
  test('a steady pace gives a narrow range around the truth', () => {
    const { grid } = encode(100);
    const events = Array.from({ length: 50 }, (_, part) => [
      taskEvent('encode', part, 2, 'ready', 'running'),
      taskEvent('encode', part, 3, 'running', 'done', { at: new Date(START + (part + 1) * 10_000).toISOString() }),
    ]).flat();
    applyToGrid(grid, events, []);
    const found = estimate(grid, STAGES, START, START + 500_000, 50);
    expect(found?.low).toBeGreaterThan(400);
    expect(found?.high).toBeLessThan(600);
  });

  test('nothing is said before there is a pace', () => {
    expect(estimate(encode().grid, STAGES, START, START + 1000, 0)).toBeNull();
  });
});

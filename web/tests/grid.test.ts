import { describe, expect, test } from 'vitest';
import { cellAt, layoutCells, placeOf } from '../src/pages/job/cells';
import { estimate } from '../src/pages/job/estimate';
import { Details } from '../src/pages/job/details';
import { addKnown, applyToGrid, countOf, finishedSince, gridOf, indexOf, progressOf, rangesOf, type CellsDocument, type SpansDocument } from '../src/pages/job/grid';
import { eventOf, progressOfTask, START, taskEvent } from './events';

function documentOf(size: number, status = 1): SpansDocument {
  return {
    job: 7,
    version: 1,
    now: START,
    since: START,
    interval: 1000,
    statuses: ['new', 'ready', 'running', 'done', 'error', 'skipped', 'cancelled'],
    truncated: false,
    stages: [{ name: 'encode', first: [0], last: [size - 1], status: [status], version: [1], attempt: [0], max_attempts: [3], lost: [0], percent: [0], finished: [] }],
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

  test('spans become cells, also where parts are missing', () => {
    const spans = { name: 'encode', first: [0, 2, 7], last: [1, 4, 7], status: [3, 2, 4], version: [4, 3, 5], attempt: [1, 1, 3], max_attempts: [3, 3, 3], lost: [0, 1, 0], percent: [100, 40, 0], finished: [1, 0, 2] };
    const grid = gridOf({ ...documentOf(1), stages: [spans] });
    const cells = grid.stages.get('encode');
    if (!cells) throw new Error('no stage');
    expect([...cells.status]).toEqual([3, 3, 2, 2, 2, 4]);
    expect([...cells.version]).toEqual([4, 4, 3, 3, 3, 5]);
    expect([...(cells.parts ?? [])]).toEqual([0, 1, 2, 3, 4, 7]);
    expect([cells.runningPercent, countOf(cells, 'done'), countOf(cells, 'running'), countOf(cells, 'error')]).toEqual([120, 2, 3, 1]);
    expect([indexOf(cells, 7), indexOf(cells, 5), cells.lost[2], cells.attempt[5]]).toEqual([5, -1, 1, 3]);
    expect([finishedSince(grid, cells, START), finishedSince(grid, cells, START + 500), finishedSince(grid, cells, START + 2000)]).toEqual([3, 2.5, 2]);
  });

  test('workers and times are read for the cells that are looked at, and stay known when the grid is read again', async () => {
    const read: string[] = [];
    const { grid, cells } = encode(1000);
    cells.attempt.fill(1);
    const known = (first: number): CellsDocument => ({
      workers: ['w7'],
      stages: [{ name: 'encode', parts: [first, first + 1], version: [1, 1], worker: [0, -1], claimed_at: [START, null], finished_at: [null, null] }],
    });
    const details = new Details(
      async (stage, first, last) => {
        read.push(`${stage} ${first}-${last}`);
        return known(first);
      },
      (document) => addKnown(grid, document),
    );
    for (const index of [300, 0, 1, 256]) details.want(cells, index);
    await new Promise((resolve) => setTimeout(resolve));
    expect(read).toEqual(['encode 256-511', 'encode 0-255']);
    expect([grid.workers[cells.worker[256] ?? -1], cells.claimedAt[256], cells.known[256], cells.known[300]]).toEqual(['w7', START, 1, 0]);
    details.want(cells, 256);
    applyToGrid(grid, [taskEvent('encode', 0, 2, 'ready', 'running', { worker_name: 'w8' })], []);
    const again = gridOf(documentOf(1000), grid).stages.get('encode');
    expect([again?.known[256], again?.claimedAt[256], again?.known[0], read.length]).toEqual([1, START, 0, 2]);
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

import { describe, expect, test } from 'vitest';
import { applyEvents, compareIds, mergeRows, messageOf, subjectOf, type JobRow } from '../src/pages/jobs/rows';
import { jobEvent } from './events';

const row = (id: string, fields: Partial<JobRow> = {}): JobRow => ({
  id,
  pipeline: 'thumbs',
  status: 'pending',
  subject: '',
  user: '',
  priority: 5,
  flagged: null,
  error: null,
  actor: 'user',
  reason: null,
  createdAt: '',
  startedAt: null,
  changedAt: '',
  finishedAt: null,
  version: 1,
  isArchived: false,
  ...fields,
});

describe('rows of jobs', () => {
  test('an event changes its row, which keeps its place', () => {
    const { rows } = applyEvents([row('9'), row('7'), row('5')], [jobEvent(7, 2, 'pending', 'processing')]);
    expect(rows.map((each) => [each.id, each.status])).toEqual([
      ['9', 'pending'],
      ['7', 'processing'],
      ['5', 'pending'],
    ]);
  });

  test('an event that the snapshot has already changes nothing', () => {
    const before = [row('7', { version: 4, status: 'completed' })];
    expect(applyEvents(before, [jobEvent(7, 3, 'pending', 'processing')]).rows).toBe(before);
  });

  test('a missing version is applied and reported', () => {
    const { rows, gaps, needsRead } = applyEvents([row('7')], [jobEvent(7, 5, 'processing', 'completed')]);
    expect(rows[0]?.status).toBe('completed');
    expect(gaps).toEqual(['7']);
    expect(needsRead).toBe(true);
  });

  test('a job that is not listed asks for the list', () => {
    expect(applyEvents([row('7')], [jobEvent(8, 1, null, 'pending')]).needsRead).toBe(true);
  });

  test('several events of one job apply in order', () => {
    const { rows } = applyEvents([row('7')], [jobEvent(7, 2, 'pending', 'processing'), jobEvent(7, 3, 'processing', 'completed')]);
    expect(rows[0]).toMatchObject({ status: 'completed', version: 3 });
  });

  test('pages merge without doubles, newest first, and the newer version of a row wins', () => {
    const merged = mergeRows([row('10', { version: 3 }), row('9')], [row('10', { version: 2 }), row('11'), row('8')]);
    expect(merged.map((each) => [each.id, each.version])).toEqual([
      ['11', 1],
      ['10', 3],
      ['9', 1],
      ['8', 1],
    ]);
  });

  test('ids are compared as numbers that may be too large for one', () => {
    expect(compareIds('9007199254740993', '9007199254740992')).toBeGreaterThan(0);
    expect(compareIds('99', '100')).toBeLessThan(0);
  });
});

test('the subject of a job is the file of its source, else its spec', () => {
  expect(subjectOf({ source: 'https://example.com/a/movie.mov?sig=1' })).toBe('movie.mov');
  expect(subjectOf({ count: 3, list: [1] })).toBe('count: 3, list: …');
  expect(subjectOf(null)).toBe('');
});

test('the message of an error is that of its cause', () => {
  expect(messageOf({ stage: 'encode', cause: { type: 'OSError', message: 'no space' } })).toBe('no space');
  expect(messageOf('plain')).toBe('plain');
});

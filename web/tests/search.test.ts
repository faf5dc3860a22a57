import { describe, expect, test } from 'vitest';
import { addressParams, filterOf, parseSearch, searchText, suggestions } from '../src/pages/jobs/filter';

describe('the search of jobs', () => {
  test('qualifiers make a filter', () => {
    const { filter, job, unknown } = parseSearch('status:failed,quarantined pipeline:thumbs user:ada is:flagged is:archived');
    expect(filter).toEqual({ statuses: ['failed', 'quarantined'], pipeline: 'thumbs', user: 'ada', isFlagged: true, isArchived: true });
    expect(job).toBeNull();
    expect(unknown).toEqual([]);
  });

  test('a number is the id of a job, however large', () => {
    expect(parseSearch('9007199254740993').job).toBe('9007199254740993');
  });

  test('quotes keep spaces together', () => {
    expect(parseSearch('pipeline:"my pipeline" status:running').filter).toMatchObject({ pipeline: 'my pipeline', statuses: ['running'] });
  });

  test('a slash and a colon belong to the value', () => {
    expect(parseSearch('pipeline:a/b user:x:y').filter).toMatchObject({ pipeline: 'a/b', user: 'x:y' });
  });

  test('words that mean nothing are named, not dropped', () => {
    expect(parseSearch('hello status:broken').unknown).toEqual(['hello', 'status:broken']);
  });

  test('text and address give the same filter back', () => {
    const { filter } = parseSearch('status:running,failed pipeline:"a b" user:ada is:flagged');
    expect(parseSearch(searchText(filter)).filter).toEqual(filter);
    const params = new URLSearchParams(Object.entries(addressParams(filter)).filter((each): each is [string, string] => each[1] !== undefined));
    expect(filterOf(params)).toEqual(filter);
  });
});

describe('suggestions', () => {
  const shown = (text: string) => suggestions(text, ['thumbs', 'transcode', 'my pipeline']).map((each) => each.text);

  test('an empty field suggests qualifiers', () => expect(shown('')).toEqual(['status:', 'pipeline:', 'user:', 'is:flagged', 'is:archived']));
  test('statuses complete, also after a comma', () => {
    expect(shown('status:f')).toEqual(['status:failed']);
    expect(shown('status:failed,q')).toEqual(['status:failed,quarantined']);
  });
  test('names of pipelines complete, and are quoted if they must be', () => {
    expect(shown('status:failed pipeline:t')).toEqual(['status:failed pipeline:thumbs', 'status:failed pipeline:transcode']);
    expect(shown('pipeline:')).toContain('pipeline:"my pipeline"');
  });
});

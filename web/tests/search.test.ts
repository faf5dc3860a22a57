import { describe, expect, test } from 'vitest';
import { addressParams, filterOf, isWhole, ownSuggestions, parseSearch, searchOf, searchText } from '../src/pages/jobs/filter';

describe('the search of jobs', () => {
  test('qualifiers make a filter', () => {
    const { filter, job } = parseSearch('status:failed,quarantined pipeline:thumbs user:ada is:flagged is:archived');
    expect(filter).toEqual({ statuses: ['failed', 'quarantined'], pipeline: 'thumbs', user: 'ada', terms: '', isFlagged: true, isArchived: true });
    expect(job).toBeNull();
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

  test('what only the server understands goes to it as it was written', () => {
    const text = 'created:<7d status:broken error~"disk \\"full\\" now" pipeline:a,b spec.source~=s3://x/ is:flagged user:ada';
    const { filter } = parseSearch(text);
    expect(filter).toMatchObject({ statuses: [], pipeline: '', user: 'ada', isFlagged: true });
    expect(filter.terms).toBe('created:<7d status:broken error~"disk \\"full\\" now" pipeline:a,b spec.source~=s3://x/');
    expect(searchOf(filter)).toBe(`user:ada ${filter.terms}`);
    expect(parseSearch(searchText(filter)).filter).toEqual(filter);
    expect(searchOf(parseSearch('status:failed user:ada').filter)).toBeNull();
  });

  test('text and address give the same filter back', () => {
    const { filter } = parseSearch('status:running,failed pipeline:"a \\"b\\", c" user:ada created:<7d is:flagged');
    expect(filter.pipeline).toBe('a "b", c');
    expect(parseSearch(searchText(filter)).filter).toEqual(filter);
    const params = new URLSearchParams(Object.entries(addressParams(filter)).filter((each): each is [string, string] => each[1] !== undefined));
    expect(filterOf(params)).toEqual(filter);
  });
});

describe('suggestions', () => {
  test('qualifiers of the page complete the last word', () => {
    expect(ownSuggestions('user:ada is:f').map((each) => each.text)).toEqual(['user:ada is:flagged']);
    expect(ownSuggestions('is:flagged')).toEqual([]);
  });

  test('a field is the beginning of a term, and with a value it is a whole one', () => {
    const whole = ['status:', 'error~', 'spec.', 'status:failed', 'is:flagged'].map((text) => isWhole({ text, shown: text, example: '' }));
    expect(whole).toEqual([false, false, false, true, true]);
  });
});

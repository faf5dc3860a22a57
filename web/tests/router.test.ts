import { expect, test } from 'vitest';
import { hrefOf, match } from '../src/router';

test('names with slashes and other signs survive the address', () => {
  const name = 'a/b c?d#e%f';
  const href = hrefOf(['pipelines', name]);
  expect(href).toBe('/ui/pipelines/a%2Fb%20c%3Fd%23e%25f');
  expect(match('pipelines/:name', href.slice('/ui/'.length))).toEqual({ name });
});

test('a path matches its pattern only', () => {
  expect(match('', '')).toEqual({});
  expect(match('jobs/:id', 'jobs')).toBeNull();
  expect(match('jobs', 'jobs/7')).toBeNull();
  expect(match('jobs/:id', 'jobs/%')).toBeNull();
});

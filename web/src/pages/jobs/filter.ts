/** The filter of the list of jobs: as an address, as the text of the search field, and as a query of the API. Pure. */

import { JOB_STATUSES } from '../../status';

export interface JobFilter {
  /** Statuses of the API, and `running` for every phase; empty for all. */
  statuses: string[];
  pipeline: string;
  user: string;
  isFlagged: boolean;
  isArchived: boolean;
}

export const EMPTY: JobFilter = { statuses: [], pipeline: '', user: '', isFlagged: false, isArchived: false };
export const STATUS_NAMES: readonly string[] = ['running', ...JOB_STATUSES];
export const QUALIFIERS = ['status:', 'pipeline:', 'user:', 'is:flagged', 'is:archived'] as const;

/** What a search text means: a filter, or the id of one job, or words that mean nothing. */
export type Search = { filter: JobFilter; job: string | null; unknown: string[] };

/** Parse a text such as `status:failed,quarantined pipeline:"my pipeline" user:ada is:flagged`, or the id of a job. */
export function parseSearch(text: string): Search {
  const filter: JobFilter = { ...EMPTY, statuses: [] };
  const unknown: string[] = [];
  let job: string | null = null;
  for (const word of words(text)) {
    const colon = word.indexOf(':');
    const name = colon < 0 ? '' : word.slice(0, colon).toLowerCase();
    const value = word.slice(colon + 1);
    if (colon < 0 && /^\d+$/.test(word)) job = word;
    else if (name === 'status') {
      for (const status of value.split(',').filter(Boolean)) {
        const found = status.toLowerCase().replaceAll(' ', '_');
        if (!STATUS_NAMES.includes(found)) unknown.push(`status:${status}`);
        else if (!filter.statuses.includes(found)) filter.statuses.push(found);
      }
    } else if (name === 'pipeline') filter.pipeline = value;
    else if (name === 'user') filter.user = value;
    else if (word === 'is:flagged') filter.isFlagged = true;
    else if (word === 'is:archived') filter.isArchived = true;
    else unknown.push(word);
  }
  return { filter, job, unknown };
}

/** Return the text of the search field for a filter. */
export function searchText(filter: JobFilter): string {
  const parts: string[] = [];
  if (filter.statuses.length) parts.push(`status:${filter.statuses.join(',')}`);
  if (filter.pipeline) parts.push(`pipeline:${quoted(filter.pipeline)}`);
  if (filter.user) parts.push(`user:${quoted(filter.user)}`);
  if (filter.isFlagged) parts.push('is:flagged');
  if (filter.isArchived) parts.push('is:archived');
  return parts.join(' ');
}

/** Read the filter of an address. */
export function filterOf(query: URLSearchParams): JobFilter {
  return {
    statuses: (query.get('status') ?? '').split(',').filter((status) => STATUS_NAMES.includes(status)),
    pipeline: query.get('pipeline') ?? '',
    user: query.get('user') ?? '',
    isFlagged: query.get('flagged') === 'true',
    isArchived: query.get('archived') === 'true',
  };
}

/** Return the parameters of the address of a filter. */
export function addressParams(filter: JobFilter): Record<string, string | undefined> {
  return {
    status: filter.statuses.join(',') || undefined,
    pipeline: filter.pipeline || undefined,
    user: filter.user || undefined,
    flagged: filter.isFlagged ? 'true' : undefined,
    archived: filter.isArchived ? 'true' : undefined,
  };
}

/** Suggest how the word that is being typed may go on; each suggestion is the whole text. */
export function suggestions(text: string, pipelines: readonly string[]): { text: string; shown: string }[] {
  const start = lastWordStart(text);
  const word = text.slice(start).toLowerCase();
  const head = text.slice(0, start);
  const of = (options: readonly string[]) =>
    options.filter((option) => option.toLowerCase().startsWith(word) && option.toLowerCase() !== word).map((option) => ({ text: head + option, shown: option }));
  if (word.startsWith('status:')) {
    const comma = text.lastIndexOf(',');
    const begun = comma > start ? text.slice(start, comma + 1) : 'status:';
    const typed = text.slice(start + begun.length).toLowerCase();
    return STATUS_NAMES.filter((status) => status.startsWith(typed) && status !== typed).map((status) => ({ text: head + begun + status, shown: status }));
  }
  if (word.startsWith('pipeline:')) return of(pipelines.map((name) => `pipeline:${quoted(name)}`));
  return of(QUALIFIERS);
}

function words(text: string): string[] {
  const found: string[] = [];
  for (const [, bare = '', inQuotes] of text.matchAll(/([^\s"]+)(?:"([^"]*)"?)?/g)) found.push(bare + (inQuotes ?? ''));
  return found;
}

function lastWordStart(text: string): number {
  const quotes = [...text].filter((character) => character === '"').length;
  const end = quotes % 2 ? text.lastIndexOf('"') : text.length;
  return text.slice(0, end).lastIndexOf(' ') + 1;
}

function quoted(value: string): string {
  return /[\s"]/.test(value) ? `"${value.replaceAll('"', '')}"` : value;
}

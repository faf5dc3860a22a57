/**
 * The filter of the list of jobs: as an address, as the text of the search field, and as a query of the API. The text is the
 * grammar of `reel jobs`; what an address has a parameter for is kept apart, the rest as it was written. Pure.
 */

import { JOB_STATUSES } from '../../status';

export interface JobFilter {
  /** Statuses of the API, and `running` for every phase; empty for all. */
  statuses: string[];
  pipeline: string;
  user: string;
  /** The other terms of a search, as they were written; the server parses them. */
  terms: string;
  isFlagged: boolean;
  isArchived: boolean;
}

export const EMPTY: JobFilter = { statuses: [], pipeline: '', user: '', terms: '', isFlagged: false, isArchived: false };
export const STATUS_NAMES: readonly string[] = ['running', ...JOB_STATUSES];
/** What the page understands beyond the grammar of searches. */
export const QUALIFIERS = ['is:flagged', 'is:archived'] as const;

/** What a search text means: a filter, or the id of one job. */
export type Search = { filter: JobFilter; job: string | null };

/** Parse a text such as `status:failed user:ada created:<7d is:flagged`, or the id of a job. */
export function parseSearch(text: string): Search {
  const filter: JobFilter = { ...EMPTY, statuses: [] };
  const others: string[] = [];
  let job: string | null = null;
  for (const term of text.match(TERMS) ?? []) {
    const [, name = '', written = ''] = /^(\w+):(.*)$/s.exec(term) ?? [];
    const value = plain(written);
    const statuses = written.split(',');
    if (/^\d+$/.test(term)) job = term;
    else if (term === 'is:flagged') filter.isFlagged = true;
    else if (term === 'is:archived') filter.isArchived = true;
    else if (name === 'status' && statuses.every((status) => STATUS_NAMES.includes(status))) filter.statuses = [...new Set([...filter.statuses, ...statuses])];
    else if (name === 'pipeline' && value && !filter.pipeline) filter.pipeline = value;
    else if (name === 'user' && value && !filter.user) filter.user = value;
    else others.push(term);
  }
  filter.terms = others.join(' ');
  return { filter, job };
}

const TERMS = /(?:"(?:[^"\\]|\\.)*(?:"|$)|[^\s"])+/gs;

/** Return a single value without its quotes; empty where it is none. */
function plain(written: string): string {
  const [, inside] = /^"((?:[^"\\]|\\.)*)"$/s.exec(written) ?? [];
  return inside !== undefined ? inside.replace(/\\(.)/gs, '$1') : /[",]/.test(written) ? '' : written;
}

/** Return the text of the search field for a filter. */
export function searchText(filter: JobFilter): string {
  const parts: string[] = [];
  if (filter.statuses.length) parts.push(`status:${filter.statuses.join(',')}`);
  if (filter.pipeline) parts.push(`pipeline:${quoted(filter.pipeline)}`);
  if (filter.user) parts.push(`user:${quoted(filter.user)}`);
  if (filter.terms) parts.push(filter.terms);
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
    terms: query.get('q') ?? '',
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
    q: filter.terms || undefined,
    flagged: filter.isFlagged ? 'true' : undefined,
    archived: filter.isArchived ? 'true' : undefined,
  };
}

/** Return the search that the API takes, where the filter has terms that only it understands; else null. */
export function searchOf(filter: JobFilter): string | null {
  return filter.terms ? searchText({ ...filter, isFlagged: false, isArchived: false }) : null;
}

export interface Suggestion {
  /** The whole text with it. */
  text: string;
  /** Its last term. */
  shown: string;
  example: string;
}

/** Suggest the qualifiers of the page, as the server suggests those of the grammar. */
export function ownSuggestions(text: string): Suggestion[] {
  const term = /\S*$/.exec(text)?.[0] ?? '';
  const head = text.slice(0, text.length - term.length);
  return QUALIFIERS.filter((each) => each.startsWith(term) && each !== term).map((each) => ({ text: head + each, shown: each, example: '' }));
}

/** Whether a suggestion is a whole search, not the beginning of a term. */
export function isWhole({ text }: Suggestion): boolean {
  return !/[:~=.]$/.test(text);
}

function quoted(value: string): string {
  return /[\s",\\]/.test(value) ? `"${value.replace(/(["\\])/g, '\\$1')}"` : value;
}

/** The rows of the list of jobs: pages that were read, changed by events. Pure. */

import type { EventMessage, Job, JobStatus } from '../../api/types';
import { decide } from '../../live/versions';

/** What the list needs of a job: a job's spec may be large, and a list may be long. */
export interface JobRow {
  id: string;
  pipeline: string;
  status: JobStatus;
  subject: string;
  user: string;
  priority: number;
  flagged: string | null;
  error: string | null;
  actor: string;
  reason: string | null;
  createdAt: string;
  startedAt: string | null;
  changedAt: string;
  finishedAt: string | null;
  version: number;
  isArchived: boolean;
}

const MAX_SUBJECT = 120;

export function rowOf(job: Job): JobRow {
  return {
    id: String(job.id),
    pipeline: job.pipeline,
    status: job.status,
    subject: subjectOf(job.spec),
    user: job.user_id,
    priority: job.priority,
    flagged: job.flagged,
    error: job.error === null ? null : messageOf(job.error),
    actor: job.actor,
    reason: job.reason,
    createdAt: job.created_at,
    startedAt: job.started_at,
    changedAt: job.changed_at,
    finishedAt: job.finished_at,
    version: job.version,
    isArchived: job.archived,
  };
}

/** Return what a job is about in a few words: the file of its source, or the beginning of its spec. */
export function subjectOf(spec: unknown): string {
  if (spec === null || typeof spec !== 'object') return spec === null ? '' : String(spec).slice(0, MAX_SUBJECT);
  const fields = spec as Record<string, unknown>;
  for (const name of ['title', 'source', 'file', 'name', 'video', 'url']) {
    const value = fields[name];
    if (typeof value !== 'string' || !value) continue;
    const path = value.split(/[?#]/)[0] ?? value;
    return (name === 'title' || name === 'name' ? value : (path.replace(/\/+$/, '').split('/').pop() ?? value)).slice(0, MAX_SUBJECT);
  }
  const text = Object.entries(fields)
    .map(([name, value]) => `${name}: ${typeof value === 'object' ? '…' : String(value)}`)
    .join(', ');
  return text.slice(0, MAX_SUBJECT);
}

/** Return the message of an error document. */
export function messageOf(error: unknown): string {
  if (typeof error === 'string') return error;
  if (error === null || typeof error !== 'object') return '';
  const fields = error as Record<string, unknown>;
  if (fields['cause'] !== undefined && fields['cause'] !== null) return messageOf(fields['cause']);
  return typeof fields['message'] === 'string' ? fields['message'] : JSON.stringify(error);
}

/** Add a page; jobs that are there already keep the newer of both. Rows are newest first, and ids only grow. */
export function mergeRows(rows: readonly JobRow[], added: readonly JobRow[]): JobRow[] {
  const known = new Map(rows.map((row) => [row.id, row]));
  for (const row of added) {
    const old = known.get(row.id);
    if (!old || old.version <= row.version) known.set(row.id, row);
  }
  return [...known.values()].sort((a, b) => compareIds(b.id, a.id));
}

/** Compare ids by their number, without converting them: they may be larger than a number holds. */
export function compareIds(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}

export interface Applied {
  rows: readonly JobRow[];
  /** Whether jobs were created or changed in ways that an event does not show, so that the list should be read again. */
  needsRead: boolean;
  /** Jobs of which a version is missing. */
  gaps: string[];
}

/** Apply transitions of jobs to the rows. A row keeps its place, also when it no longer matches the filter. */
export function applyEvents(rows: readonly JobRow[], events: readonly EventMessage[]): Applied {
  const changes = events.filter((event) => event.entity === 'job' && event.job !== null);
  if (!changes.length) return { rows, needsRead: false, gaps: [] };
  const index = new Map(rows.map((row, position) => [row.id, position]));
  let next: JobRow[] | null = null;
  let needsRead = false;
  const gaps: string[] = [];
  for (const event of changes) {
    const id = String(event.job);
    const position = index.get(id);
    if (position === undefined) {
      needsRead = true;
      continue;
    }
    const row = (next ?? rows)[position];
    if (!row) continue;
    const decision = decide(row.version, event.version);
    if (decision === 'old') continue;
    if (decision === 'gap') gaps.push(id);
    const changed = changeOf(row, event);
    next ??= [...rows];
    next[position] = changed;
    if (changed.status === 'failed' && changed.error === null) needsRead = true;
  }
  return { rows: next ?? rows, needsRead: needsRead || gaps.length > 0, gaps };
}

function changeOf(row: JobRow, event: EventMessage): JobRow {
  const status = event.to as JobStatus;
  const isOver = ['completed', 'failed', 'quarantined', 'cancelled'].includes(status);
  return {
    ...row,
    status,
    version: event.version,
    actor: event.actor,
    reason: event.reason,
    changedAt: event.at,
    startedAt: row.startedAt ?? (status === 'pending' ? null : event.at),
    finishedAt: isOver ? event.at : null,
    error: status === 'failed' || status === 'quarantined' ? row.error : null,
  };
}

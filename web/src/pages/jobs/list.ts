/** The list of jobs: pages that are read as the reader scrolls, kept up to date by events. */

import { signal } from '@preact/signals';
import { ApiError, api } from '../../api/client';
import type { EventMessage } from '../../api/types';
import { following, listen, type Batch } from '../../live/feed';
import { searchOf, type JobFilter } from './filter';
import { applyEvents, mergeRows, rowOf, type JobRow } from './rows';

const PAGE = 100;
const LARGEST_PAGE = 500;
/** The least milliseconds between two reads of the first page that events cause; a slow read has longer pauses. */
const EVERY = 200;
const PAUSE_PER_READ = 3;
/** Rows of a search after which no further page is read, and pages after which the reader must ask for more. */
const ENOUGH = 20;
const MAX_PAGES = 10;

export class JobList {
  readonly rows = signal<readonly JobRow[] | undefined>(undefined);
  readonly error = signal<ApiError | null>(null);
  readonly isReading = signal(false);
  readonly isComplete = signal(false);
  /** New jobs that wait until the reader wants to see them. */
  readonly waiting = signal<readonly JobRow[]>([]);
  /** Whether new jobs are shown at once: the reader is at the top. */
  isAtTop = true;
  private after: string | null = null;
  private unlisten: (() => void) | null = null;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private early: EventMessage[] | null = [];
  /** When the next read that events cause may begin. */
  private nextRead = 0;
  private abort = new AbortController();

  constructor(private readonly filter: JobFilter) {}

  start(): void {
    this.unlisten = listen({ batch: (batch) => this.take(batch), reset: () => void this.readAgain() });
    void this.readAgain();
  }

  stop(): void {
    this.unlisten?.();
    this.abort.abort();
    if (this.timer) clearTimeout(this.timer);
  }

  /** Read as many rows as there are, at most one large page, in place of all of them. */
  async readAgain(): Promise<void> {
    this.abort.abort();
    this.abort = new AbortController();
    this.early = [];
    await following();
    const limit = Math.min(LARGEST_PAGE, Math.max(PAGE, this.rows.peek()?.length ?? 0));
    await this.read(limit, undefined, (rows, after) => {
      this.after = after;
      this.isComplete.value = after === null;
      this.waiting.value = [];
      const early = this.early ?? [];
      this.early = null;
      this.rows.value = applyEvents(rows, early).rows;
    });
  }

  /** Read the next page. */
  readonly readMore = async (): Promise<void> => {
    if (this.isReading.peek() || this.isComplete.peek() || this.after === null) return;
    await this.read(PAGE * 2, this.after, (rows, after) => {
      this.after = after;
      this.isComplete.value = after === null;
      this.rows.value = mergeRows(this.rows.peek() ?? [], rows);
    });
  };

  /** Show the new jobs that wait. */
  readonly showWaiting = (): void => {
    this.rows.value = mergeRows(this.rows.peek() ?? [], this.waiting.peek());
    this.waiting.value = [];
  };

  private async readNewest(): Promise<void> {
    await this.read(PAGE, undefined, (rows) => {
      const known = new Set(this.rows.peek()?.map((row) => row.id));
      const added = rows.filter((row) => !known.has(row.id));
      this.rows.value = mergeRows(this.rows.peek() ?? [], this.isAtTop ? rows : rows.filter((row) => known.has(row.id)));
      if (!this.isAtTop && added.length) this.waiting.value = mergeRows(this.waiting.peek(), added);
    });
  }

  private async read(limit: number, after: string | undefined, done: (rows: JobRow[], after: string | null) => void): Promise<void> {
    const { signal: aborted } = this.abort;
    this.isReading.value = true;
    const began = Date.now();
    this.nextRead = began + EVERY;
    try {
      const page = await this.load(limit, after ?? null, aborted);
      if (aborted.aborted) return;
      this.error.value = null;
      this.isReading.value = false;
      this.nextRead = Math.max(this.nextRead, Date.now() + PAUSE_PER_READ * (Date.now() - began));
      done(page.items, page.after);
    } catch (error) {
      if (aborted.aborted) return;
      this.isReading.value = false;
      this.error.value = error instanceof ApiError ? error : new ApiError(0, String(error));
    }
  }

  /** Load a page. One of a search may have few rows, or none, before the last: then it is read on. */
  private async load(limit: number, after: string | null, aborted: AbortSignal): Promise<{ items: JobRow[]; after: string | null }> {
    const { statuses, pipeline, user, isFlagged, isArchived } = this.filter;
    const search = searchOf(this.filter);
    const plain = { status: statuses.length ? (statuses as ('running' | JobRow['status'])[]) : null, pipeline: pipeline || null, user_id: user || null };
    const items: JobRow[] = [];
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      const page = await api.get('/api/v1/jobs', {
        query: { ...(search ? { q: search } : plain), flagged: isFlagged, archived: isArchived, limit, after },
        signal: aborted,
      });
      items.push(...page.items.map(rowOf));
      after = page.after;
      if (after === null || items.length >= Math.min(limit, ENOUGH)) break;
    }
    return { items, after };
  }

  private take(batch: Batch): void {
    const events = batch.events.filter((event): event is EventMessage => event.kind === 'event' && event.entity === 'job');
    if (!events.length || this.filter.isArchived) return;
    if (this.early) {
      this.early.push(...events);
      return;
    }
    const rows = this.rows.peek();
    if (!rows) return;
    const applied = applyEvents(rows, events);
    this.rows.value = applied.rows;
    if (applied.needsRead && !this.timer) {
      this.timer = setTimeout(() => {
        this.timer = null;
        void (this.filter.terms ? this.readAgain() : this.readNewest());
      }, Math.max(0, this.nextRead - Date.now()));
    }
  }
}

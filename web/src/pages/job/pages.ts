/** Reading a list of a job page by page: events, log lines, steps. */

import { signal } from '@preact/signals';
import { ApiError } from '../../api/client';
import type { Page } from '../../api/types';

/** A list that grows by pages. What is there already is recognised by its key, because the newest page is read again. */
export class PagedList<T> {
  readonly items = signal<readonly T[]>([]);
  readonly error = signal<ApiError | null>(null);
  readonly isReading = signal(false);
  /** Whether everything that there was has been read. */
  readonly isComplete = signal(false);
  private after: string | null = null;
  private abort = new AbortController();
  private readonly known = new Set<string | number>();

  constructor(
    private readonly load: (after: string | null, signal: AbortSignal) => Promise<Page<T>>,
    private readonly keyOf: (item: T) => string | number,
    private readonly most = 100_000,
  ) {}

  stop(): void {
    this.abort.abort();
  }

  /** Read one page more. */
  readonly more = async (): Promise<void> => {
    if (this.isReading.peek() || this.items.peek().length >= this.most) return;
    this.isReading.value = true;
    try {
      const page = await this.load(this.after, this.abort.signal);
      const added = page.items.filter((item) => !this.known.has(this.keyOf(item)));
      for (const item of added) this.known.add(this.keyOf(item));
      if (added.length) this.items.value = [...this.items.peek(), ...added];
      // The last page has no cursor: it is read again later, from where it began.
      if (page.after !== null) this.after = page.after;
      this.isComplete.value = page.after === null;
      this.error.value = null;
    } catch (error) {
      if (this.abort.signal.aborted) return;
      this.error.value = error instanceof ApiError ? error : new ApiError(0, String(error));
    } finally {
      this.isReading.value = false;
    }
  };

  /** Read until there is no more. */
  async all(): Promise<void> {
    do {
      await this.more();
    } while (!this.isComplete.peek() && !this.error.peek() && !this.abort.signal.aborted && this.items.peek().length < this.most);
  }
}

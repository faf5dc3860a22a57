/** A document that is read once and then kept up to date by events. */

import { signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { ApiError } from '../api/client';
import { connection, following, listen, type Batch, type Listener } from './feed';

export interface ResourceOptions<T> {
  /** Only events of this job; without it, all events. */
  job?: string;
  progress?: boolean;
  load(signal: AbortSignal): Promise<T>;
  /**
   * Return the value after a batch; `reload` asks for the document again, soon, or after as many milliseconds since the
   * last read. Without `apply`, events reload it.
   */
  apply?(value: T, batch: Batch, reload: (every?: number) => void): T;
  /** Events that matter to a resource without `apply`; by default all. */
  matters?(batch: Batch): boolean;
  /** The least milliseconds between two reads that events cause. */
  every?: number;
}

export class Resource<T> {
  readonly value = signal<T | undefined>(undefined);
  readonly error = signal<ApiError | null>(null);
  readonly isLoading = signal(true);
  /** When the shown document was read, in milliseconds since 1970. */
  readonly readAt = signal(0);
  private waiting: Batch[] = [];
  private abort: AbortController | null = null;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private unlisten: (() => void) | null = null;
  private lastRead = 0;
  /** When the timer ends. */
  private due = 0;

  constructor(private readonly options: ResourceOptions<T>) {}

  start(): void {
    const listener: Listener = {
      batch: (batch) => this.take(batch),
      reset: () => void this.reload(),
    };
    if (this.options.job !== undefined) listener.job = this.options.job;
    if (this.options.progress) listener.progress = true;
    this.unlisten = listen(listener);
    void this.reload();
  }

  stop(): void {
    this.unlisten?.();
    this.abort?.abort();
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
  }

  /** Read the document; events that arrive meanwhile are applied to it. */
  async reload(): Promise<void> {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    this.abort?.abort();
    const abort = new AbortController();
    this.abort = abort;
    this.isLoading.value = true;
    this.waiting = [];
    await following();
    try {
      if (abort.signal.aborted) return;
      this.lastRead = Date.now();
      let value: T = await this.options.load(abort.signal);
      if (abort.signal.aborted) return;
      const waiting = this.waiting;
      this.abort = null;
      this.waiting = [];
      if (this.options.apply) for (const batch of waiting) value = this.options.apply(value, batch, this.soon);
      this.value.value = value;
      this.error.value = null;
      this.readAt.value = Date.now();
      this.isLoading.value = false;
      if (!this.options.apply && waiting.some((batch) => this.matters(batch))) this.soon();
    } catch (error) {
      if (abort.signal.aborted || (error instanceof DOMException && error.name === 'AbortError')) return;
      this.abort = null;
      this.isLoading.value = false;
      this.error.value = error instanceof ApiError ? error : new ApiError(0, String(error));
      const passing = this.error.value.status === 0 || this.error.value.status >= 500 || this.error.value.status === 429;
      if (passing) this.soon(3000);
    }
  }

  /** Read the document again soon; several calls make one request. */
  readonly soon = (every = this.options.every ?? 500): void => {
    const due = Math.max(Date.now() + 50, this.lastRead + every);
    if (this.timer && due >= this.due) return;
    if (this.timer) clearTimeout(this.timer);
    this.due = due;
    this.timer = setTimeout(() => {
      this.timer = null;
      void this.reload();
    }, due - Date.now());
  };

  private take(batch: Batch): void {
    if (this.abort) {
      this.waiting.push(batch);
      return;
    }
    const value = this.value.peek();
    if (value === undefined) return;
    if (this.options.apply) this.value.value = this.options.apply(value, batch, this.soon);
    else if (this.matters(batch)) this.soon();
  }

  private matters(batch: Batch): boolean {
    return this.options.matters ? this.options.matters(batch) : batch.events.length > 0;
  }
}

/** Use a resource while the component is shown; other `keys` make another resource. */
export function useResource<T>(make: () => ResourceOptions<T>, keys: readonly unknown[]): Resource<T> {
  const resource = useMemo(() => new Resource(make()), keys);
  useEffect(() => {
    resource.start();
    return () => resource.stop();
  }, [resource]);
  return resource;
}

/** Whether what the page shows may be outdated. */
export function isStale(): boolean {
  return connection.value === 'lost' || connection.value === 'stale';
}

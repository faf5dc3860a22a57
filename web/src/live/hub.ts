/**
 * The one stream of a browser: it reads server-sent events, resumes from the last cursor, and deals them out to tabs.
 * A tab gets its next batch when it has taken the one before, so that a slow tab slows nobody else.
 */

import type { Progress } from '../api/types';
import { Outbox } from './outbox';
import type { Connection, HubPort, LiveEvent, TabMessage } from './protocol';
import { EventParser, type ServerEvent } from './sse';

/** Milliseconds without a byte after which a connection counts as lost: three heartbeats of the server. */
const SILENCE = 46_000;
/** Milliseconds between two batches of a tab; the first event after a quiet time waits for those of its commit only. */
const GATHER = 50;
const FIRST = 5;
const FIRST_DELAY = 500;
const MAX_DELAY = 4_000;
/** Milliseconds for which the stream stays open without a tab: a reload finds it again. */
const LINGER = 5_000;

interface Tab {
  outbox: Outbox;
  waiting: boolean;
  timer: ReturnType<typeof setTimeout> | null;
  sentAt: number;
}

export class Hub {
  private readonly tabs = new Map<HubPort, Tab>();
  private root = '';
  private cursor: string | null = null;
  private connection: Connection = 'connecting';
  private since = Date.now();
  private running: AbortController | null = null;
  private wake: (() => void) | null = null;
  private linger: ReturnType<typeof setTimeout> | null = null;

  receive(port: HubPort, message: TabMessage): void {
    if (message.type === 'hello') return this.join(port, message.root);
    const tab = this.tabs.get(port);
    if (!tab) return;
    if (message.type === 'interest') {
      tab.outbox.setInterest(message.interest);
      port.send({ type: 'interest', number: message.number });
    } else if (message.type === 'taken') {
      tab.waiting = false;
      this.schedule(port, tab);
    } else if (message.type === 'retry') {
      this.wake?.();
      if (!this.running) this.start();
    } else this.leave(port);
  }

  private join(port: HubPort, root: string): void {
    this.root = root;
    this.tabs.set(port, { outbox: new Outbox(), waiting: false, timer: null, sentAt: 0 });
    if (this.linger) clearTimeout(this.linger);
    this.linger = null;
    port.send({ type: 'connection', connection: this.connection, since: this.since });
    if (!this.running) this.start();
  }

  private leave(port: HubPort): void {
    const tab = this.tabs.get(port);
    if (tab?.timer) clearTimeout(tab.timer);
    this.tabs.delete(port);
    if (!this.tabs.size) this.linger = setTimeout(() => this.stop(), LINGER);
  }

  private stop(): void {
    this.running?.abort();
    this.running = null;
    this.cursor = null;
    this.connection = 'connecting';
  }

  private start(): void {
    this.running = new AbortController();
    this.cursor = null;
    void this.run(this.running.signal);
  }

  private async run(stopped: AbortSignal): Promise<void> {
    let delay = FIRST_DELAY;
    this.report(this.connection === 'ended' ? 'connecting' : this.connection);
    while (!stopped.aborted) {
      const result = await this.readStream(stopped);
      if (stopped.aborted) return;
      if (result === 'signed out') {
        this.running = null;
        this.report('ended');
        return;
      }
      if (result === 'served') delay = FIRST_DELAY;
      else this.report('lost');
      await this.pause(result === 'served' ? FIRST_DELAY / 5 : delay * (0.75 + Math.random() / 2));
      if (result !== 'served') delay = Math.min(MAX_DELAY, delay * 2);
    }
  }

  /** Read one connection until it ends. */
  private async readStream(stopped: AbortSignal): Promise<'served' | 'failed' | 'signed out'> {
    const connection = new AbortController();
    const abort = () => connection.abort();
    stopped.addEventListener('abort', abort);
    let watchdog = setTimeout(abort, SILENCE);
    let isServed = false;
    try {
      const headers: Record<string, string> = { accept: 'text/event-stream' };
      if (this.cursor !== null) headers['last-event-id'] = this.cursor;
      const response = await fetch(`${this.root}api/v1/events?progress=true`, {
        headers,
        credentials: 'same-origin',
        cache: 'no-store',
        signal: connection.signal,
      });
      if (response.status === 401 || response.status === 403) return 'signed out';
      if (!response.ok || !response.body) return 'failed';
      if (this.cursor !== null) this.report('behind');
      const reader = response.body.getReader();
      const decoder = new TextDecoder();
      const parser = new EventParser();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return isServed ? 'served' : 'failed';
        clearTimeout(watchdog);
        watchdog = setTimeout(abort, SILENCE);
        for (const event of parser.push(decoder.decode(value, { stream: true }))) {
          isServed = true;
          this.take(event);
        }
      }
    } catch {
      return 'failed';
    } finally {
      clearTimeout(watchdog);
      stopped.removeEventListener('abort', abort);
    }
  }

  private take(event: ServerEvent): void {
    switch (event.event) {
      case 'event':
      case 'state': {
        const item = JSON.parse(event.data) as LiveEvent;
        for (const [port, tab] of this.tabs) {
          tab.outbox.addEvent(item);
          this.schedule(port, tab);
        }
        break;
      }
      case 'progress': {
        const item = JSON.parse(event.data) as Progress;
        for (const [port, tab] of this.tabs) {
          tab.outbox.addProgress(item);
          this.schedule(port, tab);
        }
        break;
      }
      case 'replay_complete':
        // The first connection starts now: what the tabs read before it may lack events.
        if (this.cursor === null) this.resetTabs();
        this.report('live');
        break;
      case 'reset':
        this.resetTabs();
        break;
      case 'stale':
        this.report('stale');
        break;
      case 'fresh':
        this.report('live');
        break;
    }
    if (event.id) this.cursor = event.id;
  }

  /** Make the tabs read again, before they learn that the stream is live: they would read twice. */
  private resetTabs(): void {
    for (const [port, tab] of this.tabs) {
      tab.outbox.reset();
      if (!tab.waiting) this.flush(port, tab);
    }
  }

  private schedule(port: HubPort, tab: Tab): void {
    if (tab.waiting || tab.timer) return;
    tab.timer = setTimeout(() => this.flush(port, tab), Math.max(FIRST, tab.sentAt + GATHER - Date.now()));
  }

  private flush(port: HubPort, tab: Tab): void {
    if (tab.timer) clearTimeout(tab.timer);
    tab.timer = null;
    const message = tab.outbox.take();
    if (!message) return;
    tab.waiting = message.type === 'batch';
    tab.sentAt = Date.now();
    port.send(message);
    if (!tab.waiting) this.schedule(port, tab);
  }

  private report(connection: Connection): void {
    if (connection !== this.connection) this.since = Date.now();
    this.connection = connection;
    for (const port of this.tabs.keys()) port.send({ type: 'connection', connection, since: this.since });
  }

  private pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** The live feed of this tab: listeners get batches of events, at most one per frame. */

import { effect, signal } from '@preact/signals';
import { ROOT } from '../api/client';
import type { Progress } from '../api/types';
import { endSession, session } from '../session';
import { openLink, type Link } from './link';
import type { Connection, HubMessage, Interest, LiveEvent } from './protocol';

export interface Batch {
  events: LiveEvent[];
  progress: Progress[];
}

/** A part of the page that follows events: of one job (`job`) or of all, with or without progress of tasks. */
export interface Listener {
  job?: string;
  progress?: boolean;
  batch(batch: Batch): void;
  /** Events may have been missed: read the current state again. */
  reset(): void;
}

export const connection = signal<Connection>('connecting');
/** When the connection got into its state, in milliseconds since 1970. */
export const connectionSince = signal(Date.now());

/** Milliseconds after which a page is read although the stream is not open yet; it is read again when it is. */
const MAX_WAIT = 400;
const HIDDEN_INTERVAL = 250;

const listeners = new Set<Listener>();
let link: Link | null = null;
let number = 0;
let inForce = 0;
let isOpen = false;
let waiters: { number: number; resolve: () => void }[] = [];

/** Follow events until the returned function is called. */
export function listen(listener: Listener): () => void {
  listeners.add(listener);
  sendInterest();
  return () => {
    listeners.delete(listener);
    sendInterest();
  };
}

/** Wait until the events after now are certain to arrive, or for a short time. Return whether they are certain. */
export function following(): Promise<boolean> {
  const wanted = number;
  if (isOpen && inForce >= wanted) return Promise.resolve(true);
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), MAX_WAIT);
    waiters.push({
      number: wanted,
      resolve: () => {
        clearTimeout(timer);
        resolve(true);
      },
    });
  });
}

/** Connect again now instead of after the delay. */
export function reconnect(): void {
  link?.send({ type: 'retry' });
}

function sendInterest(): void {
  if (!link) return;
  const jobs = new Set<string>();
  const interest: Interest = { all: false, progress: false, jobs: [] };
  for (const listener of listeners) {
    if (listener.job === undefined) interest.all = true;
    else jobs.add(listener.job);
    if (listener.progress) interest.progress = true;
  }
  number++;
  link.send({ type: 'interest', interest: { ...interest, jobs: [...jobs] }, number });
}

function receive(message: HubMessage): void {
  if (message.type === 'connection') {
    connection.value = message.connection;
    connectionSince.value = message.since;
    if (message.connection === 'live') isOpen = true;
    if (message.connection === 'ended') {
      isOpen = false;
      endSession('Your session has ended: the key was revoked or has expired.');
    }
    settle();
  } else if (message.type === 'interest') {
    inForce = Math.max(inForce, message.number);
    settle();
  } else if (message.type === 'reset') {
    isOpen = true;
    settle();
    for (const listener of [...listeners]) listener.reset();
  } else inNextFrame(() => apply(message));
}

function settle(): void {
  if (!isOpen) return;
  const ready = waiters.filter((waiter) => waiter.number <= inForce);
  waiters = waiters.filter((waiter) => waiter.number > inForce);
  for (const waiter of ready) waiter.resolve();
}

function apply(batch: Batch): void {
  for (const listener of [...listeners]) {
    const own = listener.job;
    const events = own === undefined ? batch.events : batch.events.filter((event) => jobOf(event) === own);
    const progress = !listener.progress
      ? []
      : own === undefined
        ? batch.progress
        : batch.progress.filter((each) => String(each.job) === own);
    if (events.length || progress.length) listener.batch({ events, progress });
  }
  link?.send({ type: 'taken' });
}

/** Run in the next animation frame; in a hidden tab, where there are none, after a short time. */
function inNextFrame(run: () => void): void {
  if (document.hidden) {
    setTimeout(run, HIDDEN_INTERVAL);
    return;
  }
  let isDone = false;
  const once = () => {
    if (isDone) return;
    isDone = true;
    run();
  };
  requestAnimationFrame(once);
  setTimeout(once, HIDDEN_INTERVAL); // the tab was hidden in between
}

/** Return the id of the job that an event belongs to; empty for events of workers. */
export function jobOf(event: LiveEvent): string {
  if (event.kind === 'state') return event.job_id.split('.')[0] ?? '';
  return event.job === null ? '' : String(event.job);
}

function join(): void {
  link?.send({ type: 'hello', root: ROOT.href });
  sendInterest();
}

/** Open the feed while somebody is signed in. */
export function startFeed(): void {
  effect(() => {
    const isSignedIn = Boolean(session.value);
    if (isSignedIn && !link) {
      link = openLink(receive, join);
      join();
    } else if (isSignedIn && connection.peek() === 'ended') {
      connection.value = 'connecting';
      reconnect();
    }
  });
  addEventListener('pagehide', () => link?.send({ type: 'leave' }));
  addEventListener('pageshow', (event) => {
    if (!event.persisted || !link) return;
    join();
    for (const listener of [...listeners]) listener.reset();
  });
  addEventListener('online', reconnect);
}

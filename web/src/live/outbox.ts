/** What waits for one tab: events in order, and the newest progress per task. Bounded: beyond it the tab reads anew. */

import type { Progress } from '../api/types';
import type { HubMessage, Interest, LiveEvent } from './protocol';

export const MAX_EVENTS = 20_000;
/** Events that one batch carries: a tab applies a batch within a frame or two. */
export const MAX_BATCH = 1_000;

export class Outbox {
  interest: Interest = { all: false, progress: false, jobs: [] };
  private jobs = new Set<string>();
  private events: LiveEvent[] = [];
  private progress = new Map<string, Progress>();
  private isReset = false;

  setInterest(interest: Interest): void {
    this.interest = interest;
    this.jobs = new Set(interest.jobs);
  }

  addEvent(event: LiveEvent): void {
    if (this.isReset || !(this.interest.all || this.wantsJob(jobOf(event)))) return;
    if (event.kind === 'event' && event.entity === 'task') this.progress.delete(String(event.id));
    this.events.push(event);
    if (this.events.length > MAX_EVENTS) this.reset();
  }

  addProgress(progress: Progress): void {
    if (!this.interest.progress || !(this.interest.all || this.wantsJob(String(progress.job)))) return;
    this.progress.delete(progress.id);
    this.progress.set(progress.id, progress);
  }

  /** Drop what waits: the tab reads the current state again, then continues with what comes. */
  reset(): void {
    this.events = [];
    this.progress.clear();
    this.isReset = true;
  }

  /** Return the next message for the tab, or null when nothing waits. */
  take(): HubMessage | null {
    if (this.isReset) {
      this.isReset = false;
      return { type: 'reset' };
    }
    if (!this.events.length && !this.progress.size) return null;
    const events = this.events.splice(0, MAX_BATCH);
    // Progress is newer than every event that waits; it follows the last of them.
    const progress = this.events.length ? [] : [...this.progress.values()].slice(0, MAX_BATCH);
    for (const each of progress) this.progress.delete(each.id);
    return { type: 'batch', events, progress };
  }

  private wantsJob(job: string): boolean {
    return this.jobs.has(job);
  }
}

function jobOf(event: LiveEvent): string {
  if (event.kind === 'state') return event.job_id.split('.')[0] ?? '';
  return event.job === null ? '' : String(event.job);
}

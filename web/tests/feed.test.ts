import { describe, expect, test } from 'vitest';
import { MAX_BATCH, MAX_EVENTS, Outbox } from '../src/live/outbox';
import { Resource } from '../src/live/resource';
import { EventParser } from '../src/live/sse';
import { decide } from '../src/live/versions';
import { jobEvent, progressOfTask, taskEvent } from './events';

describe('server-sent events', () => {
  const text = 'retry: 2000\n\nid: a.1\nevent: event\ndata: {"x":1}\n\n:\n\nevent: progress\ndata: {"y":2}\n\n';

  test('events are found wherever the text is cut', () => {
    for (let cut = 0; cut <= text.length; cut++) {
      const parser = new EventParser();
      const found = [...parser.push(text.slice(0, cut)), ...parser.push(text.slice(cut))];
      expect(found).toEqual([
        { id: 'a.1', event: 'event', data: '{"x":1}' },
        { id: null, event: 'progress', data: '{"y":2}' },
      ]);
    }
  });
});

describe('versions', () => {
  test('the next version applies, an older one does not, a later one shows a gap', () => {
    expect(decide(3, 4)).toBe('apply');
    expect(decide(3, 3)).toBe('old');
    expect(decide(3, 2)).toBe('old');
    expect(decide(3, 6)).toBe('gap');
    expect(decide(undefined, 6)).toBe('apply');
  });
});

describe('what waits for a tab', () => {
  const all = () => {
    const outbox = new Outbox();
    outbox.setInterest({ all: true, progress: true, jobs: [] });
    return outbox;
  };

  test('events keep their order, over several batches', () => {
    const outbox = all();
    for (let version = 1; version <= MAX_BATCH + 5; version++) outbox.addEvent(jobEvent(7, version, 'pending', 'processing'));
    const versions: number[] = [];
    for (let message = outbox.take(); message; message = outbox.take()) {
      if (message.type === 'batch') versions.push(...message.events.map((event) => event.version));
    }
    expect(versions).toEqual(Array.from({ length: MAX_BATCH + 5 }, (_, index) => index + 1));
  });

  test('ten thousand reports of progress of a task are one', () => {
    const outbox = all();
    for (let step = 0; step < 10_000; step++) outbox.addProgress(progressOfTask('encode', step % 5, step / 100));
    const message = outbox.take();
    expect(message?.type === 'batch' && message.progress.map((each) => each.percent)).toEqual([99.95, 99.96, 99.97, 99.98, 99.99]);
    expect(outbox.take()).toBeNull();
  });

  test('progress before the end of a task is not shown after it', () => {
    const outbox = all();
    outbox.addProgress(progressOfTask('encode', 0, 80));
    outbox.addEvent(taskEvent('encode', 0, 3, 'running', 'done'));
    const message = outbox.take();
    expect(message?.type === 'batch' && message.progress).toEqual([]);
  });

  test('a tab that takes nothing is told to read again, and what waited is dropped', () => {
    const outbox = all();
    for (let version = 0; version <= MAX_EVENTS; version++) outbox.addEvent(jobEvent(7, version, 'pending', 'processing'));
    outbox.addEvent(jobEvent(7, MAX_EVENTS + 1, 'processing', 'completed'));
    expect(outbox.take()).toEqual({ type: 'reset' });
    expect(outbox.take()).toBeNull();
    outbox.addEvent(jobEvent(8, 1, null, 'pending'));
    expect(outbox.take()).toMatchObject({ type: 'batch', events: [{ job: 8 }] });
  });

  test('a tab gets only the jobs that it shows', () => {
    const outbox = new Outbox();
    outbox.setInterest({ all: false, progress: true, jobs: ['7'] });
    outbox.addEvent(jobEvent(8, 1, null, 'pending'));
    outbox.addEvent(jobEvent(7, 1, null, 'pending'));
    outbox.addProgress({ ...progressOfTask('encode', 0, 50), id: '8/encode/0', job: 8 });
    expect(outbox.take()).toMatchObject({ events: [{ job: 7 }], progress: [] });
  });
});

describe('a resource', () => {
  test('reads again at the earliest time that was asked for, once', async () => {
    const reads: number[] = [];
    const resource = new Resource({ load: async () => reads.push(Date.now()), every: 20 });
    await resource.reload();
    const began = Date.now();
    resource.soon(5000);
    resource.soon(60);
    resource.soon(4000);
    await new Promise((resolve) => setTimeout(resolve, 500));
    resource.stop();
    expect(reads).toHaveLength(2);
    expect((reads[1] ?? 0) - began).toBeLessThan(1000);
  });
});

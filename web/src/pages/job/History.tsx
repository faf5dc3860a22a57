/** Every transition of a job, its stages and its tasks: who made it, and why. */

import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { api } from '../../api/client';
import type { EventRecord } from '../../api/types';
import { ErrorState, Skeleton } from '../../components/States';
import { Status } from '../../components/Status';
import { VirtualList } from '../../components/VirtualList';
import { clockTime, exactTime, number } from '../../format';
import { listen } from '../../live/feed';
import { isNarrow } from '../../media';
import { PagedList } from './pages';

const PAGE = 500;
const ROW = 30;
/** Pages that are read at once: the rest is read when the reader gets there. */
const FIRST_PAGES = 2;

export function History({ job, stage }: { job: string; stage: string }) {
  const list = useMemo(
    () =>
      new PagedList<EventRecord>(
        async (after, signal) => await api.get('/api/v1/jobs/{job_id}/events', { path: { job_id: job }, query: { after, limit: PAGE }, signal }),
        (event) => `${event.entity}/${event.id}/${event.version}`,
      ),
    [job],
  );
  const kind = useSignal('');
  useEffect(() => {
    const first = async () => {
      for (let page = 0; page < FIRST_PAGES && !list.isComplete.peek(); page++) await list.more();
    };
    void first();
    let timer: ReturnType<typeof setTimeout> | null = null;
    const soon = () => {
      if (!list.isComplete.peek()) return;
      timer ??= setTimeout(() => {
        timer = null;
        void list.all();
      }, 500);
    };
    const stop = listen({ job, batch: soon, reset: soon });
    return () => {
      stop();
      list.stop();
      if (timer) clearTimeout(timer);
    };
  }, [list]);
  if (list.error.value && !list.items.value.length) return <ErrorState error={list.error.value} retry={() => void list.more()} />;
  if (!list.items.value.length) return <Skeleton lines={8} />;
  const shown = list.items.value.filter((event) => (!kind.value || event.entity === kind.value) && (!stage || event.stage === stage));
  return (
    <div class="stack">
      <div class="row wrap">
        <select class="select" aria-label="What changed" value={kind.value} onChange={(event) => (kind.value = event.currentTarget.value)}>
          <option value="">all transitions</option>
          <option value="job">of the job</option>
          <option value="stage">of stages</option>
          <option value="task">of tasks</option>
        </select>
        <span class="muted small">
          {number(shown.length)}
          {!list.isComplete.value && ' so far'}
        </span>
      </div>
      <VirtualList
        class="history"
        label="Transitions, oldest first"
        role="table"
        count={shown.length}
        rowHeight={ROW}
        minWidth={isNarrow.value ? 640 : 0}
        onEnd={list.isComplete.value ? undefined : list.more}
        row={(index) => {
          const event = shown[index];
          if (!event) return null;
          return (
            <div class="history-row" role="row">
              <span role="cell">
                <time title={exactTime(event.at)} dateTime={event.at}>
                  {clockTime(event.at)}
                </time>
              </span>
              <span role="cell" class="truncate">
                {event.entity === 'job' ? 'job' : `${event.stage ?? ''}${event.part === null ? '' : `/${event.part}`}`}
              </span>
              <span role="cell" class="row">
                <span class="muted">{event.from ?? 'created'}</span> → <Status status={event.to} />
              </span>
              <span role="cell" class="truncate">
                {event.worker_name && event.actor.startsWith('worker') ? event.worker_name : event.actor}
              </span>
              <span role="cell" class="truncate muted" title={event.reason ?? ''}>
                {event.reason ?? dataText(event.data)}
              </span>
            </div>
          );
        }}
      />
    </div>
  );
}

/** The data of an event in short: an opened stage says how many tasks it has. */
function dataText(data: unknown): string {
  if (data === null || data === undefined) return '';
  const total = typeof data === 'object' ? (data as Record<string, unknown>)['total'] : undefined;
  return typeof total === 'number' && Object.keys(data).length === 1 ? `${number(total)} tasks` : JSON.stringify(data);
}

/** The log of a job: followed while it runs, searched, copied. */

import { useComputed, useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { api } from '../../api/client';
import type { LogLine } from '../../api/types';
import { CopyButton } from '../../components/Copy';
import { Icon } from '../../components/Icon';
import { EmptyState, ErrorState, Skeleton } from '../../components/States';
import { VirtualList } from '../../components/VirtualList';
import { clockTime, exactTime, number } from '../../format';
import { PagedList } from './pages';
import type { TaskName } from './tasks';

const PAGE = 500;
/** Milliseconds between two looks for new lines: log lines are no events. */
const FOLLOW = 1500;
const ROW = 21;
const LEVELS = ['debug', 'info', 'warning', 'error'];

export function Logs({ job, task, stage, isActive }: { job: string; task?: TaskName; stage?: string; isActive: boolean }) {
  const list = useMemo(
    () =>
      new PagedList<LogLine>(
        (after, signal) =>
          api.get('/api/v1/jobs/{job_id}/logs', {
            path: { job_id: job },
            query: { after, limit: PAGE, ...(task ? { stage: task.stage, part: task.part } : {}) },
            signal,
          }),
        (line) => line.id,
      ),
    [job, task?.stage, task?.part],
  );
  const search = useSignal('');
  const level = useSignal('debug');
  const isFollowing = useSignal(true);
  useEffect(() => {
    void list.all();
    return () => list.stop();
  }, [list]);
  useEffect(() => {
    if (!isActive) return;
    const timer = setInterval(() => void list.all(), FOLLOW);
    return () => {
      clearInterval(timer);
      void list.all(); // the last lines
    };
  }, [list, isActive]);
  const stageName = useSignal(stage ?? '');
  stageName.value = stage ?? '';
  const lines = useComputed(() => {
    const wanted = search.value.toLowerCase();
    const least = LEVELS.indexOf(level.value);
    return list.items.value.filter(
      (line) =>
        LEVELS.indexOf(line.level) >= least && (!stageName.value || line.stage === stageName.value) && (!wanted || `${line.stage} ${line.part} ${line.message}`.toLowerCase().includes(wanted)),
    );
  });

  if (list.error.value && !list.items.value.length) return <ErrorState error={list.error.value} retry={() => void list.all()} />;
  if (!list.items.value.length) {
    return list.isComplete.value ? (
      <EmptyState title="No log lines">
        <p>
          A handler writes a line with <code>task.log("…")</code>.
        </p>
      </EmptyState>
    ) : (
      <Skeleton lines={8} />
    );
  }
  return (
    <div class="stack">
      <div class="row wrap">
        <div class="search-field">
          <Icon name="search" />
          <input class="input" data-search aria-label="Search the log" placeholder="Search" value={search.value} onInput={(event) => (search.value = event.currentTarget.value)} />
        </div>
        <select class="select" aria-label="Least level" value={level.value} onChange={(event) => (level.value = event.currentTarget.value)}>
          {LEVELS.map((each) => (
            <option key={each} value={each}>
              {each === 'debug' ? 'all levels' : each === 'error' ? 'errors' : `${each} and above`}
            </option>
          ))}
        </select>
        <span class="muted small">
          {number(lines.value.length)} of {number(list.items.value.length)} lines
        </span>
        <span class="grow" />
        <label class="row small">
          <input type="checkbox" checked={isFollowing.value} onChange={(event) => (isFollowing.value = event.currentTarget.checked)} /> Follow
        </label>
        <CopyButton label="Copy these lines" text={() => lines.value.map(textOf).join('\n')} />
      </div>
      <VirtualList
        class="log"
        label="Log"
        role="log"
        count={lines.value.length}
        rowHeight={ROW}
        follow={isFollowing.value}
        onAtEnd={(isAtEnd) => {
          if (!isAtEnd) isFollowing.value = false;
        }}
        row={(index) => {
          const line = lines.value[index];
          return (
            line && (
              <div class="log-line" data-level={line.level} title={line.metadata ? `${line.message}\n${JSON.stringify(line.metadata)}` : line.message}>
                <time title={exactTime(line.at)}>{clockTime(line.at)}</time>
                <span class="log-task">
                  {line.stage}/{line.part}
                </span>
                <span class="log-level">{line.level === 'info' ? '' : line.level}</span>
                <span class="truncate">
                  {line.message}
                  {line.metadata !== null && <span class="muted"> {JSON.stringify(line.metadata)}</span>}
                </span>
              </div>
            )
          );
        }}
      />
    </div>
  );
}

function textOf(line: LogLine): string {
  const metadata = line.metadata === null ? '' : ` ${JSON.stringify(line.metadata)}`;
  return `${line.at} ${line.level} ${line.stage}/${line.part} ${line.message}${metadata}`;
}

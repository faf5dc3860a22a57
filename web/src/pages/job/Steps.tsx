/** The commands that tasks have run, with their output. */

import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { api } from '../../api/client';
import type { Step } from '../../api/types';
import { CopyButton } from '../../components/Copy';
import { EmptyState, ErrorState, Skeleton } from '../../components/States';
import { Status } from '../../components/Status';
import { Time } from '../../components/Time';
import { duration } from '../../format';
import { shellLine, shortLine } from './commands';
import { PagedList } from './pages';
import type { TaskName } from './tasks';

const PAGE = 50;
const FOLLOW = 3000;

export function Steps({ job, task, stage, isActive }: { job: string; task?: TaskName; stage?: string; isActive: boolean }) {
  const list = useMemo(
    () =>
      new PagedList<Step>(
        (after, signal) =>
          api.get('/api/v1/jobs/{job_id}/steps', {
            path: { job_id: job },
            query: { after, limit: PAGE, ...(task ? { stage: task.stage, part: task.part } : {}) },
            signal,
          }),
        (step) => step.id,
      ),
    [job, task?.stage, task?.part],
  );
  const open = useSignal<number | null>(null);
  useEffect(() => {
    void list.more();
    return () => list.stop();
  }, [list]);
  useEffect(() => {
    if (!isActive) return;
    const timer = setInterval(() => {
      if (list.isComplete.peek()) void list.more();
    }, FOLLOW);
    return () => clearInterval(timer);
  }, [list, isActive]);
  const steps = stage ? list.items.value.filter((step) => step.stage === stage) : list.items.value;
  if (list.error.value && !list.items.value.length) return <ErrorState error={list.error.value} retry={() => void list.more()} />;
  if (!list.items.value.length) {
    return list.isComplete.value ? (
      <EmptyState title="No commands yet">
        <p>
          Commands such as ffmpeg appear here with their output. A handler records its own with <code>task.exec(…)</code>.
        </p>
      </EmptyState>
    ) : (
      <Skeleton lines={6} />
    );
  }
  return (
    <div class="steps">
      {steps.map((step) => (
        <details key={step.id} class="step" open={open.value === step.id} onToggle={(event) => event.currentTarget.open && (open.value = step.id)}>
          <summary>
            <Status status={step.exit_code === 0 ? 'done' : step.exit_code === null ? 'cancelled' : 'error'} label={step.exit_code === null ? 'stopped' : `exit ${step.exit_code}`} />
            <span class="nowrap">
              {step.stage}/{step.part}
            </span>
            <code class="truncate grow">{shortLine(step.argv, 160)}</code>
            <span class="nowrap muted">{duration(step.seconds)}</span>
            <Time at={step.started_at} />
          </summary>
          {open.value === step.id && (
            <div class="step-body">
              <div class="row">
                <h3 class="grow">Command</h3>
                <CopyButton label="Copy the command" text={shellLine(step.argv)} />
              </div>
              <pre class="pre" tabIndex={0}>
                {shellLine(step.argv)}
              </pre>
              <div class="row">
                <h3 class="grow">Output</h3>
                {step.output && <CopyButton label="Copy the output" text={step.output} />}
              </div>
              <pre class="pre" tabIndex={0}>
                {step.output || '(nothing)'}
              </pre>
            </div>
          )}
        </details>
      ))}
      {!list.isComplete.value && (
        <button type="button" class="button" disabled={list.isReading.value} onClick={() => void list.more()}>
          Show more
        </button>
      )}
    </div>
  );
}

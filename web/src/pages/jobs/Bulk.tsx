/** Doing something to many jobs: to the selected ones, or to all that match the filter, after a preview with the count. */

import { useEffect, useId, useState } from 'preact/hooks';
import { ApiError, api } from '../../api/client';
import { Dialog } from '../../components/Dialog';
import { Skeleton } from '../../components/States';
import { toast } from '../../components/Toast';
import { number, plural } from '../../format';
import { PHASES } from '../../status';
import { act, applies, LABELS, SELECTABLE, type JobAction } from './actions';
import type { JobFilter } from './filter';
import type { JobRow } from './rows';

/** Requests that are made at once for selected jobs. */
const AT_ONCE = 6;

export interface BulkProps {
  action: JobAction;
  /** The selected jobs; null for all that match. */
  selected: readonly JobRow[] | null;
  filter: JobFilter;
  onClose: () => void;
  onDone: () => void;
}

type Count = { jobs: number; skipped: number };

export function BulkDialog(props: BulkProps) {
  const { action, selected, filter } = props;
  const [count, setCount] = useState<Count | null>(null);
  const [reason, setReason] = useState('');
  const [priority, setPriority] = useState(5);
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const form = useId();
  const words = LABELS[action];
  const targets = selected?.filter((row) => applies(action, row.status)) ?? [];

  useEffect(() => {
    if (selected) setCount({ jobs: targets.length, skipped: selected.length - targets.length });
    else preview(action, filter, priority).then((jobs) => setCount({ jobs, skipped: 0 }), (refused) => setError(asError(refused)));
  }, []);

  const submit = async (event: Event) => {
    event.preventDefault();
    if (!count || isBusy) return;
    setBusy(true);
    setError(null);
    try {
      const failed = selected
        ? await eachOf(targets, (row) => act(action, row.id, reason.trim() || null, priority))
        : await all(action, filter, priority, reason, count.jobs);
      const done = count.jobs - failed.length;
      if (done) toast(`${plural(done, 'job')} ${words.done}.`);
      if (failed.length) toast(`${plural(failed.length, 'job')} not ${words.done}.`, 'error', { hint: failed[0] ?? null });
      props.onDone();
    } catch (refused) {
      const found = asError(refused);
      setError(found);
      // Other jobs match now: show the new number, so that the next click knows what it does.
      if (!selected && found.status === 409) preview(action, filter, priority).then((jobs) => setCount({ jobs, skipped: 0 }), () => undefined);
      setBusy(false);
    }
  };

  const needsReason = action === 'quarantine';
  return (
    <Dialog
      title={count ? `${words.verb}${action === 'reprioritise' ? ' of' : ''} ${plural(count.jobs, 'job')}` : `${words.verb} …`}
      onClose={props.onClose}
      foot={
        <>
          <button type="button" class="button" onClick={props.onClose}>
            Back
          </button>
          <button
            type="submit"
            form={form}
            class={`button primary ${action === 'cancel' || action === 'quarantine' ? 'danger' : ''}`}
            disabled={!count?.jobs || isBusy || (needsReason && !reason.trim())}
          >
            {words.verb} {count ? `(${number(count.jobs)})` : ''}
          </button>
        </>
      }
    >
      <form id={form} class="stack" onSubmit={submit}>
        {count ? (
          <p>
            {count.jobs ? words.meaning : 'No job among these can take this action now.'}
            {count.skipped > 0 && ` ${plural(count.skipped, 'selected job')} cannot take it and will be left as they are.`}
          </p>
        ) : (
          !error && <Skeleton lines={2} />
        )}
        {action === 'reprioritise' && <PriorityField value={priority} onChange={setPriority} />}
        <label class="field">
          <span>
            Reason <span class="muted small">({needsReason ? '' : 'optional; '}the history records it)</span>
          </span>
          <input class="input" value={reason} maxLength={1000} onInput={(event) => setReason(event.currentTarget.value)} autoFocus />
        </label>
        {error && (
          <div class="notice error" role="alert">
            <span>{error.message}</span>
            {error.hint && <span class="muted small">{error.hint}</span>}
          </div>
        )}
      </form>
    </Dialog>
  );
}

export function PriorityField({ value, onChange }: { value: number; onChange: (value: number) => void }) {
  return (
    <label class="field">
      <span>
        Priority: {value} <span class="muted small">(10 is most urgent)</span>
      </span>
      <input type="range" min={0} max={10} step={1} value={value} onInput={(event) => onChange(Number(event.currentTarget.value))} />
    </label>
  );
}

/** The statuses of a bulk request: those of the filter that the action applies to. */
export function statusesFor(action: JobAction, filter: JobFilter): string[] {
  const possible = SELECTABLE[action];
  if (!filter.statuses.length) return [...possible];
  return filter.statuses.filter((status) => possible.some((each) => each === status || (each === 'running' && (PHASES as readonly string[]).includes(status))));
}

type BulkBody = NonNullable<Parameters<typeof api.post<'/api/v1/jobs/bulk'>>[1]>['body'];

function bodyOf(action: JobAction, filter: JobFilter, priority: number): BulkBody {
  return {
    action,
    status: statusesFor(action, filter),
    pipeline: filter.pipeline || null,
    user_id: filter.user || null,
    priority: action === 'reprioritise' ? priority : null,
  } as BulkBody;
}

async function preview(action: JobAction, filter: JobFilter, priority: number): Promise<number> {
  if (!statusesFor(action, filter).length) return 0;
  return (await api.post('/api/v1/jobs/bulk', { body: bodyOf(action, filter, priority) })).matched;
}

async function all(action: JobAction, filter: JobFilter, priority: number, reason: string, expected: number): Promise<string[]> {
  const body = { ...bodyOf(action, filter, priority), expected, reason: reason.trim() || null } as BulkBody;
  const result = await api.post('/api/v1/jobs/bulk', { body });
  return result.items.filter((item) => item.verdict === 'refused').map((item) => item.error ?? '');
}

/** Do something to each, some at once; return the messages of those that failed. */
async function eachOf<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<string[]> {
  const failed: string[] = [];
  const left = [...items];
  const lane = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) {
      try {
        await run(item);
      } catch (error) {
        failed.push(asError(error).message);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return failed;
}

function asError(error: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError(0, String(error));
}

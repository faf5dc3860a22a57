/** The archive: months of finished jobs, and the button that moves more there. */

import { useState } from 'preact/hooks';
import { api } from '../api/client';
import { Field, FormDialog } from '../components/Field';
import { Icon } from '../components/Icon';
import { Panel } from '../components/Panel';
import { Progress } from '../components/Progress';
import { EmptyState, ErrorState, Skeleton } from '../components/States';
import { Time } from '../components/Time';
import { toast } from '../components/Toast';
import { bytes, duration, number, plural } from '../format';
import { useResource } from '../live/resource';
import { hrefOf, navigate } from '../router';
import type { PageProps } from '../routes';
import '../styles/tables.css';

/** What newer servers add. */
type Month = { month: string; jobs: number; finished_at: string | null; bytes?: number | null };

const monthName = new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric', timeZone: 'UTC' });

/** `2026-10` → `October 2026`. */
export function nameOfMonth(month: string): string {
  const time = Date.parse(`${month}-01T00:00:00Z`);
  return Number.isNaN(time) ? month : monthName.format(time);
}

export default function Archive(_: PageProps) {
  const list = useResource(() => ({ load: (signal) => api.get('/api/v1/archive', { signal }) as Promise<Month[]>, matters: () => false }), []);
  const settings = useResource(() => ({ load: (signal) => api.get('/api/v1/settings', { signal }), matters: () => false }), []);
  const [isOpen, setOpen] = useState(false);
  const [id, setId] = useState('');
  const months = list.value.value;
  if (!months) return list.error.value ? <ErrorState error={list.error.value} retry={() => list.reload()} /> : <Skeleton lines={6} />;
  const valueOf = (name: string) => Number(settings.value.value?.find((each) => each.name === name)?.value ?? Number.NaN);
  const total = months.reduce((sum, each) => sum + each.jobs, 0);
  const most = Math.max(1, ...months.map((each) => each.jobs));
  const hasBytes = months.some((each) => typeof each.bytes === 'number');
  const after = (seconds: number, never: string) => (seconds > 0 ? duration(seconds) : never);
  return (
    <div class="stack">
      <div class="row wrap">
        <form
          class="row wrap grow"
          onSubmit={(event) => {
            event.preventDefault();
            if (/^\d+$/.test(id.trim())) navigate(hrefOf(['jobs', id.trim()]));
          }}
        >
          <label class="search-box">
            <span class="visually-hidden">Open an archived job by its id</span>
            <Icon name="search" />
            <input class="input" type="search" inputMode="numeric" data-search placeholder="Open a job by its id" value={id} onInput={(event) => setId(event.currentTarget.value)} />
          </label>
        </form>
        <a class="button" href={hrefOf(['jobs'], { archived: '1' })}>
          <Icon name="search" /> Search archived jobs
        </a>
        <button type="button" class="button primary" onClick={() => setOpen(true)}>
          <Icon name="archive" /> Archive now …
        </button>
      </div>
      {months.length === 0 ? (
        <EmptyState icon="archive" title="The archive is empty">
          <p>
            The keeper moves completed jobs here {after(valueOf('archive_after'), 'never')} after their end, and failed ones after {after(valueOf('archive_failed_after'), 'never')}. Archived jobs can be read, and cost the live tables nothing.
          </p>
        </EmptyState>
      ) : (
        <Panel title={`${plural(total, 'job')} of ${plural(months.length, 'month')}`} isFlush>
          <div class="table-scroll">
            <table class="table cards">
              <thead>
                <tr>
                  <th>Month</th>
                  <th class="number">Jobs</th>
                  <th aria-label="Share" />
                  {hasBytes && <th class="number">Size</th>}
                  <th>Last one finished</th>
                </tr>
              </thead>
              <tbody>
                {[...months].reverse().map((each) => (
                  <tr key={each.month}>
                    <td data-label="Month">
                      <strong>{nameOfMonth(each.month)}</strong>
                    </td>
                    <td data-label="Jobs" class="number">
                      {number(each.jobs)}
                    </td>
                    <td class="archive-share">
                      <Progress value={(each.jobs / most) * 100} status="completed" label={`Jobs of ${nameOfMonth(each.month)}`} />
                    </td>
                    {hasBytes && (
                      <td data-label="Size" class="number">
                        {typeof each.bytes === 'number' ? bytes(each.bytes) : '–'}
                      </td>
                    )}
                    <td data-label="Finished">
                      <Time at={each.finished_at} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </Panel>
      )}
      <Panel title="Rules">
        <dl class="facts">
          <dt>Completed and cancelled jobs</dt>
          <dd>{Number.isNaN(valueOf('archive_after')) ? '' : `archived ${after(valueOf('archive_after'), 'never')} after their end`}</dd>
          <dt>Failed and quarantined jobs</dt>
          <dd>{Number.isNaN(valueOf('archive_failed_after')) ? '' : `archived ${after(valueOf('archive_failed_after'), 'never')} after they stopped`}</dd>
          <dt>Months</dt>
          <dd>{Number.isNaN(valueOf('retention')) ? '' : valueOf('retention') > 0 ? `deleted ${duration(valueOf('retention'))} after their last job finished` : 'kept for ever'}</dd>
        </dl>
      </Panel>
      {isOpen && <ArchiveDialog onClose={() => setOpen(false)} onDone={() => void list.reload()} />}
    </div>
  );
}

/** Count first what would be moved; the second press moves it. */
function ArchiveDialog({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const [before, setBefore] = useState('');
  const [failedBefore, setFailedBefore] = useState('');
  const [preview, setPreview] = useState<{ jobs: Record<string, number>; rows: Record<string, number> } | null>(null);
  const instant = (text: string) => (text ? new Date(text).toISOString() : null);
  const submit = async () => {
    const body = { before: instant(before), failed_before: instant(failedBefore) };
    if (!preview) {
      setPreview(await api.post('/api/v1/archive', { body: { ...body, dry_run: true } }));
      return;
    }
    const moved = await api.post('/api/v1/archive', { body: { ...body, dry_run: false } });
    onClose();
    onDone();
    toast(`${plural(sum(moved.jobs), 'job')} archived`);
  };
  const changed = (set: (text: string) => void) => (event: { currentTarget: HTMLInputElement }) => {
    set(event.currentTarget.value);
    setPreview(null);
  };
  return (
    <FormDialog title="Archive finished jobs" action={preview ? `Archive ${plural(sum(preview.jobs), 'job')}` : 'Count them'} onClose={onClose} submit={submit} isReady={!preview || sum(preview.jobs) > 0}>
      <p class="muted">Archived jobs can only be read. Without a time, the rules of the deployment apply.</p>
      <Field label="Completed and cancelled before" hint="In your time zone.">
        <input class="input" type="datetime-local" value={before} onInput={changed(setBefore)} />
      </Field>
      <Field label="Failed and quarantined before">
        <input class="input" type="datetime-local" value={failedBefore} onInput={changed(setFailedBefore)} />
      </Field>
      {preview && (
        <div class="notice">
          {sum(preview.jobs) === 0 ? (
            <span>No job is that old: name a later time.</span>
          ) : (
            <>
              <strong>{plural(sum(preview.jobs), 'job')} would be moved</strong>
              {Object.entries(preview.jobs).map(([month, jobs]) => (
                <span key={month}>
                  {nameOfMonth(month)}: {number(jobs)}
                </span>
              ))}
              <span class="muted small">
                {number(sum(preview.rows))} rows: {Object.entries(preview.rows).filter(([, rows]) => rows).map(([table, rows]) => `${table} ${number(rows)}`).join(', ')}
              </span>
            </>
          )}
        </div>
      )}
    </FormDialog>
  );
}

function sum(counts: Record<string, number>): number {
  return Object.values(counts).reduce((total, each) => total + each, 0);
}

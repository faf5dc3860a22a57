import { useState } from 'preact/hooks';
import { api } from '../../api/client';
import type { Schedule } from '../../api/types';
import { Field, FormDialog } from '../../components/Field';
import { toast } from '../../components/Toast';
import { exactTime, plural } from '../../format';

const SHOWN = 8;

/** Submit jobs for ticks in the past: first they are counted, then submitted. */
export function BackfillDialog({ name, onClose, onDone }: { name: string; onClose: () => void; onDone: () => void }) {
  const [start, setStart] = useState('');
  const [end, setEnd] = useState('');
  const [overlap, setOverlap] = useState<Schedule['overlap']>('allow');
  const [preview, setPreview] = useState<{ ticks: string[]; done: string[] } | null>(null);
  const body = (isDry: boolean) => ({ start: new Date(start).toISOString(), end: new Date(end).toISOString(), overlap, dry_run: isDry });
  const submit = async () => {
    if (!preview) {
      setPreview(await api.post('/api/v1/schedules/{name}/backfill', { path: { name }, body: body(true) }));
      return;
    }
    const made = await api.post('/api/v1/schedules/{name}/backfill', { path: { name }, body: body(false) });
    toast(`${plural(made.ticks.length, 'tick')} backfilled`);
    onClose();
    onDone();
  };
  return (
    <FormDialog title={`Backfill ${name}`} action={preview ? `Submit ${plural(preview.ticks.length, 'job')}` : 'Show the ticks'} onClose={onClose} submit={submit} isReady={start !== '' && end !== '' && (!preview || preview.ticks.length > 0)}>
      <p class="muted">A job is submitted for each tick of this time that has none. Times are in your time zone.</p>
      <div class="row wrap">
        <Field label="From">
          <input
            class="input"
            type="datetime-local"
            value={start}
            onInput={(event) => {
              setStart(event.currentTarget.value);
              setPreview(null);
            }}
          />
        </Field>
        <Field label="To">
          <input
            class="input"
            type="datetime-local"
            value={end}
            onInput={(event) => {
              setEnd(event.currentTarget.value);
              setPreview(null);
            }}
          />
        </Field>
      </div>
      <Field label="The jobs run">
        <select class="select" value={overlap} onChange={(event) => setOverlap(event.currentTarget.value as Schedule['overlap'])}>
          <option value="allow">at once, beside each other</option>
          <option value="queue_all">one after the other</option>
        </select>
      </Field>
      {preview && (
        <div class="notice">
          <strong>{preview.ticks.length ? `${plural(preview.ticks.length, 'tick')} would make a job` : 'No tick is left in this time'}</strong>
          {preview.ticks.slice(0, SHOWN).map((tick) => (
            <span key={tick}>{exactTime(tick).replace(/:\d\d\.000/, '')}</span>
          ))}
          {preview.ticks.length > SHOWN && <span class="muted">and {plural(preview.ticks.length - SHOWN, 'more', 'more')}</span>}
          {preview.done.length > 0 && <span class="muted small">{plural(preview.done.length, 'tick')} of this time made a job before and are left alone.</span>}
        </div>
      )}
    </FormDialog>
  );
}

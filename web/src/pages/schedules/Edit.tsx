import { useEffect, useRef, useState } from 'preact/hooks';
import { api, ApiError } from '../../api/client';
import type { Schedule } from '../../api/types';
import { Field, FormDialog } from '../../components/Field';
import { toast } from '../../components/Toast';
import { exactTime } from '../../format';
import { useResource } from '../../live/resource';
import { SpecForm, useSpec } from '../pipelines/SpecForm';

const OVERLAPS: readonly [value: Schedule['overlap'], text: string][] = [
  ['skip', 'skip the tick'],
  ['queue_one', 'let one tick wait'],
  ['queue_all', 'let every tick wait'],
  ['cancel_other', 'cancel the active jobs'],
  ['allow', 'run beside it'],
];
const CATCH_UPS: readonly [value: Schedule['catch_up'], text: string][] = [
  ['latest', 'the latest one'],
  ['all', 'all of them'],
  ['none', 'none'],
];
const EXAMPLES = ['@hourly', '30 2 * * *', '0 8 * * 1', 'every 15m'] as const;
const PAUSE = 350;

/** Create or change a schedule. Its next ticks are shown while it is written, where the server can tell them. */
export function EditSchedule({ schedule, onClose, onDone }: { schedule: Schedule | null; onClose: () => void; onDone: (name: string) => void }) {
  const pipelines = useResource(() => ({ load: (signal) => api.get('/api/v1/pipelines', { signal }), matters: () => false }), []);
  const found = pipelines.value.value;
  const names = [...new Set(found?.map((each) => each.name))].sort();
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';
  const [name, setName] = useState(schedule?.name ?? '');
  const [pipeline, setPipeline] = useState(schedule?.pipeline ?? '');
  const [timing, setTiming] = useState(schedule?.timing ?? '');
  const [timezone, setTimezone] = useState(schedule?.timezone ?? zone);
  const [overlap, setOverlap] = useState<Schedule['overlap']>(schedule?.overlap ?? 'skip');
  const [catchUp, setCatchUp] = useState<Schedule['catch_up']>(schedule?.catch_up ?? 'latest');
  const [jitter, setJitter] = useState(schedule ? String(schedule.jitter) : '');
  const spec = useRef<() => unknown>(() => ({}));
  const [isSpecReady, setSpecReady] = useState(false);
  const schema = found?.find((each) => each.name === pipeline && each.current)?.spec;
  const preview = usePreview(timing, timezone);
  const submit = async () => {
    const body = { pipeline, timing: timing.trim(), timezone: timezone.trim(), overlap, catch_up: catchUp, jitter: Number(jitter) || 0, spec: spec.current() };
    if (schedule) await api.patch('/api/v1/schedules/{name}', { path: { name: schedule.name }, body: body as never });
    else await api.post('/api/v1/schedules', { body: { ...body, name: name.trim() } as never });
    toast(schedule ? 'The schedule is changed' : 'The schedule is created');
    onClose();
    onDone(schedule?.name ?? name.trim());
  };
  return (
    <FormDialog title={schedule ? `Edit ${schedule.name}` : 'New schedule'} action={schedule ? 'Save' : 'Create the schedule'} onClose={onClose} submit={submit} isReady={name.trim() !== '' && pipeline !== '' && timing.trim() !== '' && isSpecReady} isWide>
      <div class="form-columns">
        <div class="stack">
          {!schedule && (
            <Field label="Name" hint="Letters, digits and . _ -">
              <input class="input" name="name" value={name} autoFocus onInput={(event) => setName(event.currentTarget.value)} />
            </Field>
          )}
          <Field label="Timing" hint={`A cron expression or an interval: ${EXAMPLES.join(', ')}`}>
            <input class="input mono" name="timing" value={timing} placeholder="30 2 * * *" onInput={(event) => setTiming(event.currentTarget.value)} />
          </Field>
          <Field label="Time zone">
            <input class="input" name="timezone" list="timezones" value={timezone} onInput={(event) => setTimezone(event.currentTarget.value)} />
          </Field>
          <datalist id="timezones">
            {['UTC', zone, 'Europe/Berlin', 'America/New_York', 'Asia/Tokyo'].map((each) => (
              <option key={each} value={each} />
            ))}
          </datalist>
          <Preview preview={preview} />
        </div>
        <div class="stack">
          <Field label="Pipeline">
            <select class="select" name="pipeline" value={pipeline} onChange={(event) => setPipeline(event.currentTarget.value)}>
              <option value="">choose one</option>
              {names.map((each) => (
                <option key={each}>{each}</option>
              ))}
            </select>
          </Field>
          {pipeline && found && <PipelineSpec key={pipeline} schema={schema} start={schedule?.pipeline === pipeline ? schedule.spec : {}} value={spec} onReady={setSpecReady} />}
          <Field label="While an earlier job is active">
            <select class="select" value={overlap} onChange={(event) => setOverlap(event.currentTarget.value as Schedule['overlap'])}>
              {OVERLAPS.map(([value, text]) => (
                <option key={value} value={value}>
                  {text}
                </option>
              ))}
            </select>
          </Field>
          <Field label="Ticks missed while no keeper ran">
            <select class="select" value={catchUp} onChange={(event) => setCatchUp(event.currentTarget.value as Schedule['catch_up'])}>
              {CATCH_UPS.map(([value, text]) => (
                <option key={value} value={value}>
                  run {text}
                </option>
              ))}
            </select>
          </Field>
          <Field label="Jitter in seconds" hint="Jobs start up to so much later, so that many schedules do not start at once.">
            <input class="input" type="number" min="0" value={jitter} placeholder="0" onInput={(event) => setJitter(event.currentTarget.value)} />
          </Field>
        </div>
      </div>
    </FormDialog>
  );
}

interface PipelineSpecProps {
  schema: unknown;
  start: unknown;
  value: { current: () => unknown };
  onReady: (isReady: boolean) => void;
}

/** The spec, which starts anew with another pipeline. */
function PipelineSpec({ schema, start, value, onReady }: PipelineSpecProps) {
  const spec = useSpec(schema, start);
  value.current = spec.value;
  useEffect(() => onReady(spec.isReady), [spec.isReady]);
  return <SpecForm spec={spec} />;
}

type PreviewState = { ticks: string[]; error: string } | null;

/** Ask the server for the next ticks of a timing; null where it cannot tell. */
function usePreview(timing: string, timezone: string): PreviewState {
  const [state, setState] = useState<PreviewState>(null);
  useEffect(() => {
    if (!timing.trim()) {
      setState(null);
      return;
    }
    const abort = new AbortController();
    const timer = setTimeout(() => {
      api.post('/api/v1/schedules/preview', { body: { timing: timing.trim(), timezone: timezone.trim() || 'UTC' }, signal: abort.signal }).then(
        (found) => setState({ ticks: found.ticks, error: '' }),
        (error) => {
          if (abort.signal.aborted) return;
          setState(error instanceof ApiError && error.status === 422 ? { ticks: [], error: [error.message, error.hint].filter(Boolean).join(': ') } : null);
        },
      );
    }, PAUSE);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [timing, timezone]);
  return state;
}

function Preview({ preview }: { preview: PreviewState }) {
  if (!preview) return null;
  if (preview.error) {
    return (
      <span class="field-error" role="alert">
        {preview.error}
      </span>
    );
  }
  return (
    <div class="notice" aria-live="polite">
      <strong>Its next ticks, in your time zone</strong>
      {preview.ticks.length === 0 ? <span class="muted">There is none.</span> : preview.ticks.map((tick) => <span key={tick}>{exactTime(tick).replace(/:\d\d\.000/, '')}</span>)}
    </div>
  );
}

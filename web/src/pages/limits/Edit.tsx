import { useState } from 'preact/hooks';
import { api } from '../../api/client';
import type { Limit } from '../../api/types';
import { Field, FormDialog } from '../../components/Field';
import { toast } from '../../components/Toast';
import { useResource } from '../../live/resource';
import { parseWeights, sentenceOf, weightsText } from './limit';

interface EditLimitProps {
  /** The limit to change; null for a new one. */
  limit: Limit | null;
  /** The names of the limits in force, which a new one would replace. */
  names: readonly string[];
  onClose: () => void;
  onDone: () => void;
}

const textOf = (value: number | null | undefined) => (value === null || value === undefined ? '' : String(value));
const numberIn = (text: string) => (text.trim() === '' ? null : Number(text));

/** Set a limit, or replace the one of that name. */
export function EditLimit({ limit, names, onClose, onDone }: EditLimitProps) {
  const [name, setName] = useState(limit?.name ?? '');
  const [pipeline, setPipeline] = useState(limit?.pipeline ?? '');
  const [stage, setStage] = useState(limit?.stage ?? '');
  const [user, setUser] = useState(limit?.user_id ?? '');
  const [per, setPer] = useState(limit?.per ?? '');
  const [running, setRunning] = useState(textOf(limit?.running));
  const [starts, setStarts] = useState(textOf(limit?.starts));
  const [period, setPeriod] = useState(textOf(limit?.period));
  const [weights, setWeights] = useState(weightsText(limit?.weights ?? {}));
  const [reason, setReason] = useState(limit?.reason ?? '');
  const known = useResource(() => ({ load: (signal) => api.get('/api/v1/pipelines', { signal }), matters: () => false }), []).value.value ?? [];
  const current = known.find((each) => each.name === pipeline && each.current);
  const terms = {
    pipeline: pipeline || null,
    stage: stage || null,
    user_id: user.trim() || null,
    per: per.trim() || null,
    running: numberIn(running),
    starts: numberIn(starts),
    period: numberIn(period),
  };
  const weighted = parseWeights(per.trim() ? weights : '');
  const isRate = (terms.starts === null) === (terms.period === null);
  const limitsSomething = terms.running !== null || terms.starts !== null || terms.per !== null;
  const submit = async () => {
    if ('refused' in weighted) return;
    const path = { name: name.trim() };
    await api.put('/api/v1/limits/{name}', { path, body: { ...terms, weights: weighted.weights, reason: reason.trim() || null } });
    toast(`${path.name}: ${sentenceOf(terms)}`);
    onClose();
    onDone();
  };
  return (
    <FormDialog title={limit ? `Change ${limit.name}` : 'New limit'} action="Set the limit" onClose={onClose} submit={submit} isReady={name.trim() !== '' && isRate && limitsSomething && !('refused' in weighted)} isWide>
      <div class="form-columns">
        <div class="stack">
          {!limit && (
            <Field label="Name" hint={names.includes(name.trim()) ? 'This replaces the limit of that name.' : 'Letters, digits and . _ -'}>
              <input class="input" name="name" value={name} maxLength={100} autoFocus onInput={(event) => setName(event.currentTarget.value)} />
            </Field>
          )}
          <Choice
            label="Pipeline"
            none="every pipeline"
            value={pipeline}
            choices={known.map((each) => each.name)}
            onChange={(next) => {
              setPipeline(next);
              setStage('');
            }}
          />
          {pipeline && <Choice label="Stage" none="every stage" value={stage} choices={current?.stages.map((each) => each.name) ?? []} onChange={setStage} />}
          <Field label="User" hint="Empty: the tasks of all users.">
            <input class="input" name="user" value={user} maxLength={255} onInput={(event) => setUser(event.currentTarget.value)} />
          </Field>
          <Field label="Per" hint="Count each user, job or value of the spec such as spec.customer apart. Empty: all together.">
            <input class="input mono" name="per" list="limit-keys" value={per} maxLength={255} onInput={(event) => setPer(event.currentTarget.value)} />
          </Field>
          <datalist id="limit-keys">
            <option value="user" />
            <option value="job" />
          </datalist>
        </div>
        <div class="stack">
          <Field label="Running" hint="Tasks that may run at once.">
            <input class="input" name="running" type="number" min="1" value={running} onInput={(event) => setRunning(event.currentTarget.value)} />
          </Field>
          <Field label="Starts" error={isRate ? null : 'Starts and period go together, such as 100 starts in 60 seconds.'}>
            <input class="input" name="starts" type="number" min="1" value={starts} onInput={(event) => setStarts(event.currentTarget.value)} />
          </Field>
          <Field label="Period in seconds">
            <input class="input" name="period" type="number" min="0.1" step="any" value={period} onInput={(event) => setPeriod(event.currentTarget.value)} />
          </Field>
          {terms.per !== null && (
            <Field label="Weights" hint="Turns of a key for each turn of another: a line each, such as ada=2." error={'refused' in weighted ? `“${weighted.refused}” is not KEY=NUMBER, such as ada=2.` : null}>
              <textarea class="textarea mono" name="weights" rows={3} value={weights} onInput={(event) => setWeights(event.currentTarget.value)} />
            </Field>
          )}
          <Field label="Reason" hint="It is shown with the limit.">
            <input class="input" name="reason" value={reason} maxLength={1000} onInput={(event) => setReason(event.currentTarget.value)} />
          </Field>
        </div>
      </div>
      <p class="muted" role="status">
        {limitsSomething && isRate ? sentenceOf(terms) : 'Give a number of running tasks, starts with a period, or a key that takes turns.'}
      </p>
    </FormDialog>
  );
}

interface ChoiceProps {
  label: string;
  /** The choice of no value. */
  none: string;
  value: string;
  choices: readonly string[];
  onChange: (value: string) => void;
}

function Choice({ label, none, value, choices, onChange }: ChoiceProps) {
  const shown = [...new Set(value ? [value, ...choices] : choices)].sort();
  return (
    <Field label={label}>
      <select class="select" name={label.toLowerCase()} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        <option value="">{none}</option>
        {shown.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>
    </Field>
  );
}

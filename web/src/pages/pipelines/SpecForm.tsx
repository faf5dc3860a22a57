import { useMemo, useState } from 'preact/hooks';
import { Field } from '../../components/Field';
import { fieldsOf, specOf, type SchemaField } from './schema';

export interface SpecState {
  fields: SchemaField[] | null;
  texts: Record<string, string>;
  setText: (name: string, text: string) => void;
  json: string;
  setJson: (text: string) => void;
  isJson: boolean;
  setIsJson: (isJson: boolean) => void;
  /** What is wrong with the JSON; empty if nothing is. */
  jsonError: string;
  errors: Record<string, string>;
  isReady: boolean;
  value: () => unknown;
}

/** The state of a form for the specs of a pipeline; `start` fills it. */
export function useSpec(schema: unknown, start: unknown): SpecState {
  const fields = useMemo(() => fieldsOf(schema), [schema]);
  const startText = (value: unknown) => (value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value));
  const given = typeof start === 'object' && start !== null ? (start as Record<string, unknown>) : {};
  const [texts, setTexts] = useState<Record<string, string>>(() => Object.fromEntries(Object.entries(given).map(([name, value]) => [name, startText(value)])));
  const [json, setJson] = useState(() => JSON.stringify(start ?? {}, null, 2));
  const known = new Set(fields?.map((field) => field.name));
  const [isJson, setMode] = useState(fields === null || Object.keys(given).some((name) => !known.has(name)));
  const filled = fields ? specOf(fields, texts) : { spec: {}, errors: {} };
  let parsed: unknown = null;
  let jsonError = '';
  try {
    parsed = JSON.parse(json);
  } catch (error) {
    jsonError = error instanceof Error ? error.message : 'it is not JSON';
  }
  return {
    fields,
    texts,
    setText: (name, text) => setTexts((before) => ({ ...before, [name]: text })),
    json,
    setJson,
    isJson,
    setIsJson: (next) => {
      if (next) setJson(JSON.stringify(filled.spec, null, 2));
      else if (typeof parsed === 'object' && parsed !== null) setTexts(Object.fromEntries(Object.entries(parsed).map(([name, value]) => [name, startText(value)])));
      setMode(next);
    },
    jsonError,
    errors: filled.errors,
    isReady: isJson ? jsonError === '' : Object.keys(filled.errors).length === 0,
    value: () => (isJson ? parsed : filled.spec),
  };
}

export function SpecForm({ spec }: { spec: SpecState }) {
  return (
    <>
      {spec.fields !== null && (
        <div class="row" role="group" aria-label="How the spec is written">
          <button type="button" class="button small" aria-pressed={!spec.isJson} onClick={() => spec.setIsJson(false)}>
            Form
          </button>
          <button type="button" class="button small" aria-pressed={spec.isJson} onClick={() => spec.setIsJson(true)}>
            JSON
          </button>
        </div>
      )}
      {spec.isJson || spec.fields === null ? (
        <Field label="Spec" hint="A JSON document." error={spec.jsonError}>
          <textarea class="textarea mono" name="spec" rows={8} spellcheck={false} value={spec.json} onInput={(event) => spec.setJson(event.currentTarget.value)} />
        </Field>
      ) : (
        spec.fields.map((field) => <SpecField key={field.name} field={field} spec={spec} />)
      )}
    </>
  );
}

function SpecField({ field, spec }: { field: SchemaField; spec: SpecState }) {
  const text = spec.texts[field.name] ?? '';
  const set = (next: string) => spec.setText(field.name, next);
  // An empty required field is no mistake yet.
  const error = text === '' ? null : spec.errors[field.name];
  const label = (
    <>
      <span class="mono">{field.label}</span> {!field.isRequired && <span class="muted small">optional</span>}
    </>
  );
  const unset = field.initial ? `default: ${field.initial}` : 'not set';
  if (field.kind === 'boolean' || field.kind === 'choice') {
    const choices = field.kind === 'boolean' ? ['true', 'false'] : field.choices.map(String);
    return (
      <Field label={label} hint={field.hint} error={error}>
        <select class="select" name={field.name} value={text} onChange={(event) => set(event.currentTarget.value)}>
          <option value="">{field.isRequired && field.kind === 'choice' ? 'choose one' : unset}</option>
          {choices.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </Field>
    );
  }
  if (field.kind === 'json') {
    return (
      <Field label={label} hint={[field.hint, 'as JSON'].filter(Boolean).join(', ')} error={error}>
        <textarea class="textarea mono" name={field.name} rows={2} spellcheck={false} value={text} placeholder={field.initial} onInput={(event) => set(event.currentTarget.value)} />
      </Field>
    );
  }
  const isNumber = field.kind === 'integer' || field.kind === 'number';
  return (
    <Field label={label} hint={field.hint} error={error}>
      <input class="input" name={field.name} inputMode={isNumber ? 'decimal' : undefined} value={text} placeholder={field.initial} onInput={(event) => set(event.currentTarget.value)} />
    </Field>
  );
}

/** A form of a JSON Schema: plain types have a field of their own, everything else is written as JSON. Pure. */

export type FieldKind = 'text' | 'integer' | 'number' | 'boolean' | 'choice' | 'json';

export interface SchemaField {
  name: string;
  label: string;
  kind: FieldKind;
  isRequired: boolean;
  /** The default as text; empty without one. */
  initial: string;
  hint: string;
  choices: readonly (string | number | boolean)[];
  minimum: number | null;
  maximum: number | null;
}

type Schema = Record<string, unknown>;
const isObject = (value: unknown): value is Schema => typeof value === 'object' && value !== null && !Array.isArray(value);
const MAX_REFERENCES = 10;

/** Return the fields of a schema of objects; null where the spec is written as JSON as a whole. */
export function fieldsOf(schema: unknown): SchemaField[] | null {
  if (!isObject(schema)) return null;
  const root = resolve(schema, schema);
  const properties = root['properties'];
  if (root['type'] !== 'object' || !isObject(properties) || Object.keys(properties).length === 0) return null;
  const required = Array.isArray(root['required']) ? root['required'] : [];
  const fields = Object.entries(properties).map(([name, each]) => fieldOf(name, resolve(isObject(each) ? each : {}, schema), required.includes(name), schema));
  return fields.sort((a, b) => Number(b.isRequired) - Number(a.isRequired));
}

/** Follow references within the schema. */
function resolve(schema: Schema, root: Schema): Schema {
  let found = schema;
  for (let step = 0; step < MAX_REFERENCES; step++) {
    const reference = found['$ref'];
    if (typeof reference !== 'string' || !reference.startsWith('#/')) return found;
    let target: unknown = root;
    for (const piece of reference.slice(2).split('/')) target = isObject(target) ? target[piece.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined;
    if (!isObject(target)) return found;
    const { $ref: _, ...rest } = found;
    found = { ...target, ...rest };
  }
  return found;
}

function fieldOf(name: string, given: Schema, isRequired: boolean, root: Schema): SchemaField {
  const schema = withoutNull(given, root);
  const kind = kindOf(schema);
  const initial = given['default'];
  const text = (key: string) => (typeof given[key] === 'string' ? (given[key] as string) : typeof schema[key] === 'string' ? (schema[key] as string) : '');
  const bound = (key: string) => (typeof schema[key] === 'number' ? (schema[key] as number) : null);
  const [minimum, maximum] = [bound('minimum'), bound('maximum')];
  const range = minimum !== null && maximum !== null ? `${minimum} to ${maximum}` : minimum !== null ? `at least ${minimum}` : maximum !== null ? `at most ${maximum}` : '';
  return {
    name,
    label: name,
    kind,
    isRequired,
    initial: initial === undefined || initial === null ? '' : kind === 'json' ? JSON.stringify(initial) : String(initial),
    hint: [text('description'), range].filter(Boolean).join('; '),
    choices: (Array.isArray(schema['enum']) ? schema['enum'] : 'const' in schema ? [schema['const']] : []).filter((each): each is string => ['string', 'number', 'boolean'].includes(typeof each)),
    minimum,
    maximum,
  };
}

/** `anyOf: [T, null]` is an optional T. */
function withoutNull(schema: Schema, root: Schema): Schema {
  const options = schema['anyOf'] ?? schema['oneOf'];
  if (!Array.isArray(options)) return schema;
  const others = options.filter((each) => !(isObject(each) && each['type'] === 'null'));
  return others.length === 1 && isObject(others[0]) ? resolve(others[0], root) : schema;
}

function kindOf(schema: Schema): FieldKind {
  if (Array.isArray(schema['enum']) && schema['enum'].every((each) => ['string', 'number', 'boolean'].includes(typeof each))) return 'choice';
  switch (schema['type']) {
    case 'string':
      return 'text';
    case 'integer':
      return 'integer';
    case 'number':
      return 'number';
    case 'boolean':
      return 'boolean';
    default:
      return 'json';
  }
}

export interface Filled {
  spec: Record<string, unknown>;
  /** What is wrong, by field. */
  errors: Record<string, string>;
}

/** Return the spec that texts of a form make. An empty text leaves an optional field out. */
export function specOf(fields: readonly SchemaField[], texts: Readonly<Record<string, string>>): Filled {
  const spec: Record<string, unknown> = {};
  const errors: Record<string, string> = {};
  for (const field of fields) {
    const text = texts[field.name] ?? '';
    if (text === '') {
      if (field.isRequired && field.kind !== 'boolean') errors[field.name] = 'is required';
      else if (field.isRequired) spec[field.name] = false;
      continue;
    }
    const value = valueOf(field, text);
    if (value instanceof Error) errors[field.name] = value.message;
    else spec[field.name] = value;
  }
  return { spec, errors };
}

function valueOf(field: SchemaField, text: string): unknown {
  switch (field.kind) {
    case 'text':
      return text;
    case 'boolean':
      return text === 'true';
    case 'choice':
      return field.choices.find((each) => String(each) === text) ?? new Error('is none of the choices');
    case 'integer':
    case 'number': {
      const value = Number(text);
      if (!Number.isFinite(value) || (field.kind === 'integer' && !Number.isInteger(value))) return new Error(field.kind === 'integer' ? 'is not a whole number' : 'is not a number');
      if (field.minimum !== null && value < field.minimum) return new Error(`is less than ${field.minimum}`);
      if (field.maximum !== null && value > field.maximum) return new Error(`is greater than ${field.maximum}`);
      return value;
    }
    case 'json':
      try {
        return JSON.parse(text) as unknown;
      } catch {
        return new Error('is not JSON');
      }
  }
}

import { describe, expect, it } from 'vitest';
import { fieldsOf, specOf } from '../src/pages/pipelines/schema';

const SCHEMA = {
  type: 'object',
  required: ['video'],
  $defs: { Mode: { enum: ['fit', 'fill'] } },
  properties: {
    width: { type: 'integer', default: 320, minimum: 1, maximum: 4096 },
    video: { type: 'string', description: 'a file' },
    mode: { $ref: '#/$defs/Mode', default: 'fit' },
    seconds: { type: 'number' },
    watermark: { type: 'boolean', default: false },
    note: { anyOf: [{ type: 'string' }, { type: 'null' }], default: null },
    crops: { type: 'array', items: { type: 'object' } },
  },
};
const fields = fieldsOf(SCHEMA) ?? [];

describe('the form of a schema', () => {
  it('has a field for each property, the required ones first', () => {
    expect(fields.map((field) => [field.name, field.kind, field.initial])).toEqual([
      ['video', 'text', ''],
      ['width', 'integer', '320'],
      ['mode', 'choice', 'fit'],
      ['seconds', 'number', ''],
      ['watermark', 'boolean', 'false'],
      ['note', 'text', ''],
      ['crops', 'json', ''],
    ]);
    expect(fields[1]?.hint).toBe('1 to 4096');
    expect(fields[2]?.choices).toEqual(['fit', 'fill']);
  });

  it('makes a spec of typed values and leaves out what is empty', () => {
    const texts = { video: 'a.mp4', width: '640', watermark: 'true', crops: '[{"left": 1}]', mode: 'fill' };
    expect(specOf(fields, texts)).toEqual({ spec: { video: 'a.mp4', width: 640, mode: 'fill', watermark: true, crops: [{ left: 1 }] }, errors: {} });
  });

  it('says what is wrong', () => {
    const { errors } = specOf(fields, { width: '1.5', seconds: 'x', crops: '{', mode: 'stretch' });
    expect(errors).toEqual({ video: 'is required', width: 'is not a whole number', seconds: 'is not a number', crops: 'is not JSON', mode: 'is none of the choices' });
    expect(specOf(fields, { video: 'a', width: '5000' }).errors['width']).toBe('is greater than 4096');
  });

  it('falls back to JSON for everything else', () => {
    for (const schema of [null, undefined, true, [], {}, { type: 'array' }, { type: 'object' }, { type: 'object', properties: {} }, { $ref: '#/nowhere' }]) expect(fieldsOf(schema)).toBeNull();
  });

  it('ends on a reference to itself', () => {
    expect(fieldsOf({ type: 'object', properties: { a: { $ref: '#/properties/a' } } })?.[0]?.kind).toBe('json');
  });
});

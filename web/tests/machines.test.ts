import { describe, expect, it } from 'vitest';
import { drawMachine, simplify } from '../src/pages/machines/shape';

const GROUP = { name: 'running', states: ['planning', 'processing'] };
const of = (from: string, to: string, actor = 'worker') => ({ from, to, actors: [actor] });

describe('a statechart', () => {
  it('joins what all states of a group share, and only that', () => {
    const found = simplify(
      [of('pending', 'planning'), of('pending', 'processing', 'keeper'), of('planning', 'processing'), of('planning', 'failed'), of('processing', 'failed'), of('processing', 'completed'), of('failed', 'pending')],
      GROUP,
    );
    expect(found.map((each) => `${each.from}>${each.to}`).sort()).toEqual(['failed>pending', 'pending>running', 'planning>processing', 'processing>completed', 'running>failed']);
    expect(found.find((each) => each.to === 'running')?.actors).toEqual(['keeper', 'worker']);
  });

  it('places every state of every machine, and overlaps none', () => {
    const machines = { job: ['pending', 'validating', 'planning', 'downloading_inputs', 'processing', 'uploading_outputs', 'completed', 'failed', 'quarantined', 'cancelled'], task: ['new', 'ready', 'running', 'done', 'error', 'skipped', 'cancelled'], worker: ['active', 'draining', 'offline'], other: ['a', 'b', 'c', 'd', 'e'], job2: ['x'] };
    for (const [entity, states] of Object.entries(machines)) {
      const { nodes, width, height } = drawMachine(entity, states, []);
      const boxes = [...nodes.values()];
      expect(boxes).toHaveLength(states.length);
      for (const [index, a] of boxes.entries()) {
        expect(a.x >= 0 && a.y >= 0 && a.x + a.width <= width && a.y + a.height <= height).toBe(true);
        for (const b of boxes.slice(index + 1)) expect(a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y).toBe(true);
      }
    }
  });

  it('draws an arrow for each transition that is left', () => {
    const drawing = drawMachine('worker', ['active', 'draining', 'offline'], [of('active', 'draining'), of('draining', 'active'), of('active', 'offline')]);
    expect(drawing.edges).toHaveLength(3);
    expect(new Set(drawing.edges.map((edge) => edge.path)).size).toBe(3);
    for (const edge of drawing.edges) expect(edge.path).not.toContain('NaN');
  });
});

import { describe, expect, it } from 'vitest';
import { layered } from '../src/layered';

const OPTIONS = { width: 100, height: 40, layerGap: 20, nodeGap: 10, margin: 2 };
const DIAMOND = [
  { name: 'fetch', after: [] },
  { name: 'audio', after: ['fetch'] },
  { name: 'encode', after: ['fetch'] },
  { name: 'pack', after: ['audio', 'encode'] },
  { name: 'publish', after: ['pack', 'fetch'] },
];

describe('layered', () => {
  it('puts each node right of those that it waits for', () => {
    const { nodes } = layered(DIAMOND, OPTIONS);
    for (const node of DIAMOND) for (const before of node.after) expect(nodes.get(node.name)?.x).toBeGreaterThan(nodes.get(before)?.x ?? Infinity);
  });

  it('lets no nodes overlap, and keeps all inside of the drawing', () => {
    const { nodes, width, height } = layered(DIAMOND, OPTIONS);
    const all = [...nodes.values()];
    for (const [index, a] of all.entries()) {
      expect(a.x).toBeGreaterThanOrEqual(0);
      expect(a.y).toBeGreaterThanOrEqual(0);
      expect(a.x + 100).toBeLessThanOrEqual(width);
      expect(a.y + 40).toBeLessThanOrEqual(height);
      for (const b of all.slice(index + 1)) expect(Math.abs(a.x - b.x) >= 100 || Math.abs(a.y - b.y) >= 40).toBe(true);
    }
  });

  it('routes a long edge around the nodes of the layers between', () => {
    const { nodes, edges } = layered(DIAMOND, OPTIONS);
    const long = edges.find((edge) => edge.from === 'fetch' && edge.to === 'publish');
    for (const point of long?.points.slice(1, -1) ?? []) {
      for (const at of nodes.values()) expect(point.x >= at.x && point.x <= at.x + 100 && point.y > at.y && point.y < at.y + 40).toBe(false);
    }
    expect(long?.points.length).toBe(6);
  });

  it('takes an empty graph, unknown names and a cycle', () => {
    expect(layered([], OPTIONS)).toMatchObject({ width: 0, height: 0, edges: [] });
    expect(layered([{ name: 'a', after: ['gone'] }], OPTIONS).edges).toEqual([]);
    const cycle = [
      { name: 'a', after: ['b'] },
      { name: 'b', after: ['a'] },
    ];
    expect(layered(cycle, OPTIONS).nodes.size).toBe(2);
  });
});

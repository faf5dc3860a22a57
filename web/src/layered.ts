/** Lays out a graph without cycles in layers from left to right. Small enough to be loaded with the page; pure. */

export interface LayeredOptions {
  width: number;
  height: number;
  /** Pixels between layers, and between nodes of a layer. */
  layerGap: number;
  nodeGap: number;
  margin: number;
}

export interface Layered {
  /** The left upper corner of each node. */
  nodes: Map<string, { x: number; y: number }>;
  edges: { from: string; to: string; points: { x: number; y: number }[] }[];
  width: number;
  height: number;
}

/** A node, or the place where an edge crosses a layer. */
interface Slot {
  name: string;
  isBend: boolean;
  y: number;
}

const SWEEPS = 8;

export function layered(graph: readonly { name: string; after: readonly string[] }[], options: LayeredOptions): Layered {
  const { width, height, layerGap, nodeGap, margin } = options;
  const byName = new Map(graph.map((node) => [node.name, node]));
  const depth = new Map<string, number>();
  const depthOf = (name: string, path: ReadonlySet<string>): number => {
    const known = depth.get(name);
    if (known !== undefined) return known;
    if (path.has(name)) return 0; // a cycle, which pipelines have not
    const before = (byName.get(name)?.after ?? []).filter((each) => byName.has(each));
    const found = before.length ? 1 + Math.max(...before.map((each) => depthOf(each, new Set(path).add(name)))) : 0;
    depth.set(name, found);
    return found;
  };
  for (const node of graph) depthOf(node.name, new Set());

  const layers: Slot[][] = [];
  const slots = new Map<string, Slot>();
  const put = (layer: number, name: string, isBend: boolean) => {
    const slot: Slot = { name, isBend, y: 0 };
    (layers[layer] ??= []).push(slot);
    slots.set(name, slot);
  };
  for (const node of graph) put(depth.get(node.name) ?? 0, node.name, false);
  // An edge over several layers has a bend in each of those between.
  const links: [from: string, to: string][] = [];
  const edges: { from: string; to: string; names: string[] }[] = [];
  for (const node of graph) {
    for (const before of node.after) {
      if (!byName.has(before)) continue;
      const names = [before];
      for (let layer = (depth.get(before) ?? 0) + 1; layer < (depth.get(node.name) ?? 0); layer++) {
        const bend = `${before}>${node.name}@${layer}`;
        put(layer, bend, true);
        names.push(bend);
      }
      names.push(node.name);
      for (let index = 1; index < names.length; index++) links.push([names[index - 1] ?? '', names[index] ?? '']);
      edges.push({ from: before, to: node.name, names });
    }
  }
  for (let layer = 0; layer < layers.length; layer++) layers[layer] ??= [];
  const neighbours = { before: new Map<string, string[]>(), after: new Map<string, string[]>() };
  for (const [from, to] of links) {
    neighbours.after.set(from, [...(neighbours.after.get(from) ?? []), to]);
    neighbours.before.set(to, [...(neighbours.before.get(to) ?? []), from]);
  }
  const sizeOf = (slot: Slot) => (slot.isBend ? 2 : height);
  const middle = (names: readonly string[], otherwise: number) => (names.length ? names.reduce((sum, name) => sum + (slots.get(name)?.y ?? 0), 0) / names.length : otherwise);
  const stack = (layer: Slot[], wanted: (slot: Slot) => number) => {
    // Keep the order, give each its wanted place where it is free, and centre what was pushed apart.
    const goals = layer.map(wanted);
    let edge = Number.NEGATIVE_INFINITY;
    for (const [index, slot] of layer.entries()) {
      slot.y = Math.max(goals[index] ?? 0, edge + sizeOf(slot) / 2);
      edge = slot.y + sizeOf(slot) / 2 + nodeGap;
    }
    const shift = layer.reduce((sum, slot, index) => sum + (goals[index] ?? 0) - slot.y, 0) / Math.max(1, layer.length);
    for (const slot of layer) slot.y += shift;
  };
  for (const layer of layers) stack(layer, () => 0);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const isForward = sweep % 2 === 0;
    const side = isForward ? neighbours.before : neighbours.after;
    for (const layer of isForward ? layers : [...layers].reverse()) {
      const goals = new Map(layer.map((slot) => [slot, middle(side.get(slot.name) ?? [], slot.y)]));
      layer.sort((a, b) => (goals.get(a) ?? 0) - (goals.get(b) ?? 0));
      stack(layer, (slot) => goals.get(slot) ?? 0);
    }
  }
  const all = [...slots.values()];
  const top = Math.min(...all.map((slot) => slot.y - sizeOf(slot) / 2));
  const bottom = Math.max(...all.map((slot) => slot.y + sizeOf(slot) / 2));
  const xOf = (layer: number) => margin + layer * (width + layerGap);
  const yOf = (name: string) => (slots.get(name)?.y ?? 0) - top + margin;
  const nodes = new Map(graph.map((node) => [node.name, { x: xOf(depth.get(node.name) ?? 0), y: yOf(node.name) - height / 2 }]));
  return {
    nodes,
    edges: edges.map(({ from, to, names }) => ({ from, to, points: pointsOf(names, depth.get(from) ?? 0, xOf, yOf, width) })),
    width: layers.length ? xOf(layers.length - 1) + width + margin : 0,
    height: all.length ? bottom - top + 2 * margin : 0,
  };
}

function pointsOf(names: readonly string[], first: number, xOf: (layer: number) => number, yOf: (name: string) => number, width: number): { x: number; y: number }[] {
  const last = names.length - 1;
  return names.flatMap((name, index) => {
    const x = xOf(first + index);
    const y = yOf(name);
    if (index === 0) return [{ x: x + width, y }];
    if (index === last) return [{ x, y }];
    return [
      { x, y },
      { x: x + width, y },
    ];
  });
}

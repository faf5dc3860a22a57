/** Draws state machines as statecharts: states that share their transitions are a group, and share one arrow. Pure. */

export interface Transition {
  from: string;
  to: string;
  actors: readonly string[];
}

export interface Point {
  x: number;
  y: number;
}

export interface Box extends Point {
  width: number;
  height: number;
}

/** A state or a group, placed on a grid of columns and rows. */
interface Placing {
  states: Readonly<Record<string, readonly [column: number, row: number]>>;
  group?: { name: string; states: readonly string[] };
}

const PLACES: Readonly<Record<string, Placing>> = {
  job: {
    states: {
      pending: [0, 0],
      validating: [1, 0],
      planning: [2, 0],
      downloading_inputs: [3, 0],
      processing: [4, 0],
      uploading_outputs: [5, 0],
      completed: [6.25, 0],
      quarantined: [1.6, 1.5],
      failed: [4, 1.5],
      cancelled: [3, 2.7],
    },
    group: { name: 'running', states: ['validating', 'planning', 'downloading_inputs', 'processing', 'uploading_outputs'] },
  },
  task: { states: { new: [0, 0], ready: [1.5, 0], running: [3, 0], done: [4.5, 0], skipped: [3, 1.4], error: [1.5, 1.4], cancelled: [4.5, 1.4] } },
  worker: { states: { active: [0, 0], draining: [2, 0], offline: [1, 1.3] } },
};

export const NODE = { width: 150, height: 44 };
const COLUMN = 172;
const ROW = 112;
const MARGIN = 30;

export interface Edge {
  from: string;
  to: string;
  actors: readonly string[];
  path: string;
}

export interface Drawing {
  nodes: Map<string, Box>;
  group: ({ name: string; states: readonly string[] } & Box) | null;
  edges: Edge[];
  width: number;
  height: number;
}

/** Replace transitions that all states of a group have by one of the group; those within it by the steps to the next. */
export function simplify(transitions: readonly Transition[], group: { name: string; states: readonly string[] } | undefined): Transition[] {
  if (!group) return [...transitions];
  const inside = new Set(group.states);
  const found: Transition[] = [];
  const outgoing = new Map<string, Transition[]>();
  const incoming = new Map<string, Transition[]>();
  for (const each of transitions) {
    if (inside.has(each.from) && inside.has(each.to)) {
      if (group.states.indexOf(each.to) === group.states.indexOf(each.from) + 1) found.push(each);
    } else if (inside.has(each.from)) outgoing.set(each.to, [...(outgoing.get(each.to) ?? []), each]);
    else if (inside.has(each.to)) incoming.set(each.from, [...(incoming.get(each.from) ?? []), each]);
    else found.push(each);
  }
  const actorsOf = (all: readonly Transition[]) => [...new Set(all.flatMap((each) => each.actors))].sort();
  for (const [to, all] of outgoing) {
    if (all.length === group.states.length) found.push({ from: group.name, to, actors: actorsOf(all) });
    else found.push(...all);
  }
  for (const [from, all] of incoming) {
    if (all.length === group.states.length) found.push({ from, to: group.name, actors: actorsOf(all) });
    else found.push(...all);
  }
  return found;
}

/** Place a machine and route its transitions. A machine that has no places of its own is put in rows. */
export function drawMachine(entity: string, states: readonly string[], transitions: readonly Transition[]): Drawing {
  const placing = PLACES[entity] ?? { states: Object.fromEntries(states.map((state, index) => [state, [index % 4, Math.floor(index / 4)] as const])) };
  const nodes = new Map<string, Box>();
  let spare = 0;
  for (const state of states) {
    const [column, row] = placing.states[state] ?? [spare++, 3.6];
    nodes.set(state, { x: MARGIN + column * COLUMN, y: MARGIN + row * ROW, ...NODE });
  }
  const members = placing.group?.states.filter((state) => nodes.has(state)) ?? [];
  const isGrouped = placing.group !== undefined && members.length === placing.group.states.length;
  const group = isGrouped && placing.group ? { ...placing.group, ...around(members.map((state) => nodes.get(state) as Box), 11, 24) } : null;
  const boxes = new Map<string, Box>(nodes);
  if (group) boxes.set(group.name, group);
  const drawn = simplify(transitions, isGrouped ? placing.group : undefined);
  const pairs = new Set(drawn.map((each) => `${each.from}>${each.to}`));
  // The group is in the way of what passes by, not of what is inside of it.
  const inside = new Set(group?.states);
  const obstaclesOf = (each: Transition) => (inside.has(each.from) || inside.has(each.to) ? [...nodes.values()] : [...boxes.values()]);
  const edges = drawn.flatMap((each) => {
    const from = boxes.get(each.from);
    const to = boxes.get(each.to);
    return from && to ? [{ ...each, path: route(from, to, pairs.has(`${each.to}>${each.from}`), obstaclesOf(each)) }] : [];
  });
  const all = [...boxes.values()];
  return { nodes, group, edges, width: Math.max(...all.map((box) => box.x + box.width)) + MARGIN, height: Math.max(...all.map((box) => box.y + box.height)) + MARGIN };
}

function around(boxes: readonly Box[], side: number, top: number): Box {
  const left = Math.min(...boxes.map((box) => box.x)) - side;
  const above = Math.min(...boxes.map((box) => box.y)) - top;
  const right = Math.max(...boxes.map((box) => box.x + box.width)) + side;
  const below = Math.max(...boxes.map((box) => box.y + box.height)) + side;
  return { x: left, y: above, width: right - left, height: below - above };
}

/** Return a curve from the border of one box to that of another; of a pair of opposite arrows each keeps to its side. */
export function route(from: Box, to: Box, isPair: boolean, obstacles: readonly Box[] = []): string {
  const shift = isPair ? 9 : 0;
  const a = centre(from);
  const b = centre(to);
  const round = (value: number) => Math.round(value * 10) / 10;
  const overlapX = Math.min(from.x + from.width, to.x + to.width) - Math.max(from.x, to.x);
  const overlapY = Math.min(from.y + from.height, to.y + to.height) - Math.max(from.y, to.y);
  if (overlapY > 10) {
    const y = (Math.max(from.y, to.y) + Math.min(from.y + from.height, to.y + to.height)) / 2;
    const isRight = b.x > a.x;
    const start = isRight ? from.x + from.width : from.x;
    const end = isRight ? to.x : to.x + to.width;
    const offset = y + (isRight ? -shift : shift);
    const isBlocked = obstacles.some((box) => box !== from && box !== to && box.y < offset && offset < box.y + box.height && box.x < Math.max(start, end) && box.x + box.width > Math.min(start, end));
    if (!isBlocked) return `M${round(start)},${round(offset)}L${round(end)},${round(offset)}`;
    // Boxes between the two are passed by in an arc above.
    const [p, q] = [a.x + (isRight ? 1 : -1) * (from.width / 4), b.x + (isRight ? -1 : 1) * (to.width / 4)];
    const sink = from.y - 34;
    return `M${round(p)},${round(from.y)}C${round(p)},${round(sink)} ${round(q)},${round(sink)} ${round(q)},${round(to.y)}`;
  }
  const isDown = b.y > a.y;
  const startY = isDown ? from.y + from.height : from.y;
  const endY = isDown ? to.y : to.y + to.height;
  const side = isDown ? shift : -shift;
  if (Math.abs(b.y - a.y) > 2 * ROW && overlapX < 24) {
    // Far below: down beside everything, then to the side of the box.
    const isRight = b.x > a.x;
    const at = a.x - from.width * 0.3;
    const end = isRight ? to.x : to.x + to.width;
    return `M${round(at)},${round(startY)}L${round(at)},${round(b.y - 40)}C${round(at)},${round(b.y)} ${round(at)},${round(b.y)} ${round(at + 40)},${round(b.y)}L${round(end)},${round(b.y)}`;
  }
  let p: number;
  let q: number;
  if (overlapX > 24) {
    p = q = (Math.max(from.x, to.x) + Math.min(from.x + from.width, to.x + to.width)) / 2 + side;
  } else {
    // Leave and arrive at the sides that face each other.
    p = a.x + Math.sign(b.x - a.x) * from.width * 0.28 + side;
    q = b.x - Math.sign(b.x - a.x) * to.width * 0.28 + side;
  }
  const middle = (startY + endY) / 2;
  return `M${round(p)},${round(startY)}C${round(p)},${round(middle)} ${round(q)},${round(middle)} ${round(q)},${round(endY)}`;
}

function centre(box: Box): Point {
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

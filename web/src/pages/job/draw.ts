/** Drawing the timeline: only what is visible, and of the runs that share a pixel only one. */

import type { Viewport } from '../../components/Canvas';
import { clockTime, percent } from '../../format';
import { colour } from '../../theme';
import { OUTCOMES, type Runs, type TimelineRow } from './runs';

export interface View {
  from: number;
  to: number;
}

export const AXIS = 24;
export const LABEL = 118;
const MARKED = [OUTCOMES.indexOf('error'), OUTCOMES.indexOf('lost')];

export function rowHeightOf(rows: number): number {
  return rows > 80 ? 12 : rows > 24 ? 18 : 24;
}

/** Return the time at a pixel. */
export function timeAt(view: View, width: number, x: number): number {
  return view.from + ((x - LABEL) / Math.max(1, width - LABEL)) * (view.to - view.from);
}

/** Return the first run of a row that ends after a time. Runs of a row do not overlap. */
export function firstVisible(runs: Runs, row: TimelineRow, from: number, now: number): number {
  let low = 0;
  let high = row.runs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const run = row.runs[middle] ?? 0;
    if ((runs.end[run] || now) < from) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Return the run at a point of the canvas; -1 for none. */
export function runAt(runs: Runs, rows: readonly TimelineRow[], view: View, width: number, x: number, y: number, top: number, now: number): number {
  if (x < LABEL || y < AXIS) return -1;
  const row = rows[Math.floor((y + top - AXIS) / rowHeightOf(rows.length))];
  if (!row) return -1;
  const pixel = (view.to - view.from) / Math.max(1, width - LABEL);
  const at = timeAt(view, width, x);
  for (let position = firstVisible(runs, row, at - pixel * 3, now); position < row.runs.length; position++) {
    const run = row.runs[position] ?? 0;
    const start = runs.start[run] ?? 0;
    if (start > at + pixel * 3) return -1;
    if ((runs.end[run] || now) >= at - pixel) return run;
  }
  return -1;
}

export interface DrawnTimeline {
  runs: Runs;
  rows: readonly TimelineRow[];
  view: View;
  now: number;
  hover: number;
  isActive: boolean;
}

export function drawTimeline(context: CanvasRenderingContext2D, drawn: DrawnTimeline, viewport: Viewport): void {
  const { runs, rows, view, now, hover } = drawn;
  const { width, height, top } = viewport;
  const rowHeight = rowHeightOf(rows.length);
  const scale = Math.max(1, width - LABEL) / (view.to - view.from);
  const xOf = (time: number) => LABEL + (time - view.from) * scale;
  const fills = OUTCOMES.map((outcome) => colour(FILLS[outcome]));
  const line = colour('--line');
  const muted = colour('--text-muted');
  const text = colour('--text');
  const panel = colour('--panel');
  const first = Math.max(0, Math.floor(top / rowHeight));
  const last = Math.min(rows.length - 1, Math.ceil((top + height - AXIS) / rowHeight));
  const bar = rowHeight - (rowHeight > 14 ? 6 : 3);

  context.save();
  context.beginPath();
  context.rect(LABEL, AXIS, width - LABEL, height - AXIS);
  context.clip();
  context.strokeStyle = line;
  for (const time of ticksOf(view, width - LABEL)) vertical(context, xOf(time), AXIS, height);
  context.font = '11px ui-monospace, monospace';
  context.textBaseline = 'middle';
  context.textAlign = 'left';
  for (let index = first; index <= last; index++) {
    const row = rows[index];
    if (!row) continue;
    const y = AXIS + index * rowHeight - top + (rowHeight - bar) / 2;
    let drawnTo = -Infinity;
    for (let position = firstVisible(runs, row, view.from, now); position < row.runs.length; position++) {
      const run = row.runs[position] ?? 0;
      const start = runs.start[run] ?? 0;
      if (start > view.to) break;
      const left = Math.max(LABEL - 2, xOf(start));
      const right = Math.min(width + 2, xOf(runs.end[run] || now));
      const outcome = runs.outcome[run] ?? 0;
      const isMarked = MARKED.includes(outcome);
      if (right <= drawnTo && !isMarked) continue;
      const drawnWidth = Math.max(1, right - left - (right - left > 4 ? 1 : 0));
      context.fillStyle = fills[outcome] ?? muted;
      context.fillRect(left, y, drawnWidth, bar);
      drawnTo = Math.floor(left + drawnWidth);
      if (isMarked && drawnWidth >= 3) hatch(context, left, y, drawnWidth, bar, panel);
      if (runs.attempt[run] !== undefined && (runs.attempt[run] ?? 0) > 1 && drawnWidth >= 5) {
        context.fillStyle = text;
        context.fillRect(left, y, 2, bar);
      }
      if (drawnWidth > 46 && rowHeight >= 18) label(context, `${runs.stages[runs.stage[run] ?? 0]} ${runs.part[run]}`, left + 5, y + bar / 2, drawnWidth - 8);
    }
  }
  if (hover >= 0) outlineTask(context, drawn, hover, xOf, rowHeight, bar, top, text);
  if (drawn.isActive) {
    context.strokeStyle = colour('--accent');
    context.setLineDash([3, 3]);
    vertical(context, xOf(now), AXIS, height);
    context.setLineDash([]);
  }
  context.restore();

  const [began, ended] = runs.span(now);
  for (let index = first; index <= last; index++) {
    const row = rows[index];
    if (!row || (row.lane > 0 && rowHeight < 18)) continue;
    const y = AXIS + index * rowHeight - top;
    if (y < AXIS - rowHeight / 2) continue;
    if (row.lane === 0) {
      context.strokeStyle = line;
      context.beginPath();
      context.moveTo(0, Math.round(y) + 0.5);
      context.lineTo(width, Math.round(y) + 0.5);
      context.stroke();
      context.fillStyle = text;
      context.textAlign = 'left';
      label(context, runs.workers[row.worker] ?? 'unknown', 0, y + Math.max(8, rowHeight / 2), LABEL - 48, text);
    }
    context.fillStyle = muted;
    context.textAlign = 'right';
    if (rowHeight >= 18) context.fillText(percent(Math.min(100, (100 * row.busy) / Math.max(1, ended - began))), LABEL - 8, y + rowHeight / 2);
  }

  context.fillStyle = panel;
  context.fillRect(0, 0, width, AXIS);
  context.fillStyle = muted;
  context.textAlign = 'center';
  for (const time of ticksOf(view, width - LABEL)) {
    const x = xOf(time);
    if (x > LABEL + 24 && x < width - 28) context.fillText(tickText(time, view), x, AXIS / 2);
  }
  context.textAlign = 'left';
  context.fillText('busy', 0, AXIS / 2);
}

const FILLS = {
  running: '--running-fill',
  done: '--done-fill',
  error: '--failed-fill',
  skipped: '--skipped-fill',
  lost: '--retrying-fill',
  released: '--cancelled-fill',
  cancelled: '--cancelled-fill',
} as const;

function vertical(context: CanvasRenderingContext2D, x: number, from: number, to: number): void {
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(Math.round(x) + 0.5, from);
  context.lineTo(Math.round(x) + 0.5, to);
  context.stroke();
}

function hatch(context: CanvasRenderingContext2D, x: number, y: number, width: number, height: number, ink: string): void {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.strokeStyle = ink;
  context.globalAlpha = 0.55;
  context.lineWidth = 1.5;
  context.beginPath();
  for (let at = x - height; at < x + Math.min(width, 4000); at += 6) {
    context.moveTo(at, y + height);
    context.lineTo(at + height, y);
  }
  context.stroke();
  context.restore();
}

function label(context: CanvasRenderingContext2D, text: string, x: number, y: number, width: number, ink = '#fff'): void {
  const fitting = Math.floor(width / 6.7);
  if (fitting < 2) return;
  context.fillStyle = ink;
  context.fillText(text.length > fitting ? `${text.slice(0, fitting - 1)}…` : text, x, y);
}

/** Outline the other runs of the task, and join them: where a retry went. */
function outlineTask(
  context: CanvasRenderingContext2D,
  { runs, rows, now }: DrawnTimeline,
  hover: number,
  xOf: (time: number) => number,
  rowHeight: number,
  bar: number,
  top: number,
  ink: string,
): void {
  const points: { from: number; to: number; y: number }[] = [];
  for (const [index, row] of rows.entries()) {
    for (const run of row.runs) {
      if (runs.part[run] !== runs.part[hover] || runs.stage[run] !== runs.stage[hover]) continue;
      const y = AXIS + index * rowHeight - top + (rowHeight - bar) / 2;
      const from = xOf(runs.start[run] ?? 0);
      const to = xOf(runs.end[run] || now);
      context.strokeStyle = ink;
      context.lineWidth = run === hover ? 2 : 1;
      context.strokeRect(from, y, Math.max(2, to - from - 1), bar);
      points.push({ from, to, y: y + bar / 2 });
    }
  }
  points.sort((a, b) => a.from - b.from);
  context.lineWidth = 1;
  context.beginPath();
  for (let index = 1; index < points.length; index++) {
    const before = points[index - 1];
    const after = points[index];
    if (!before || !after) continue;
    context.moveTo(before.to, before.y);
    context.lineTo(after.from, after.y);
  }
  context.stroke();
}

const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 900_000, 1_800_000, 3_600_000, 7_200_000, 14_400_000, 28_800_000, 86_400_000, 172_800_000, 604_800_000];

/** Round times about a hundred pixels apart. */
export function ticksOf(view: View, width: number): number[] {
  const wanted = ((view.to - view.from) * 100) / Math.max(100, width);
  const step = STEPS.find((each) => each >= wanted) ?? 2_592_000_000;
  const ticks: number[] = [];
  for (let time = Math.ceil(view.from / step) * step; time < view.to && ticks.length < 100; time += step) ticks.push(time);
  return ticks;
}

function tickText(time: number, view: View): string {
  const span = view.to - view.from;
  if (span < 5000) return `${clockTime(time)}.${String(Math.floor(time % 1000)).padStart(3, '0')}`;
  if (span > 172_800_000) return new Date(time).toLocaleDateString(undefined, { month: 'short', day: 'numeric' });
  return span > 600_000 ? clockTime(time).slice(0, 5) : clockTime(time);
}

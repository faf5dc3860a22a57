/** Where cells are and how they are drawn. The layout is pure. */

import { colour } from '../../theme';
import { STATUS_ORDER, type StageCells } from './grid';

export interface CellLayout {
  columns: number;
  /** Rows of one band: the rungs of a chunk, or 1. */
  rungs: number;
  bands: number;
  cellWidth: number;
  cellHeight: number;
  gap: number;
  left: number;
  bandGap: number;
  height: number;
}

const LABELS = 58;

/** Lay out `size` cells, with `rungs` rows each, in bands as wide as the place. */
export function layoutCells(size: number, rungs: number, width: number): CellLayout {
  const left = rungs > 1 ? LABELS : 0;
  const place = Math.max(40, width - left);
  const gap = size > 3000 ? 1 : 2;
  const [least, most, cellHeight] =
    size > 20_000 ? [6, 8, 7] : size > 3000 ? [8, 10, 9] : size > 400 ? [12, 16, 14] : size > 60 ? [18, 30, 20] : [30, 96, 26];
  const fitting = Math.floor((place + gap) / (least + gap));
  const columns = Math.max(1, Math.min(size, fitting));
  const cellWidth = Math.min(most, Math.floor((place + gap) / columns) - gap);
  const bands = Math.max(1, Math.ceil(size / columns));
  const bandGap = rungs > 1 && bands > 1 ? 10 : 0;
  const height = bands * (rungs * (cellHeight + gap) + bandGap) - gap - bandGap + 2;
  return { columns, rungs, bands, cellWidth, cellHeight, gap, left, bandGap, height };
}

/** Return the left upper corner of a cell. */
export function placeOf(layout: CellLayout, index: number, rung = 0): { x: number; y: number } {
  const band = Math.floor(index / layout.columns);
  const column = index % layout.columns;
  const y = band * bandHeight(layout) + rung * (layout.cellHeight + layout.gap) + 1;
  return { x: layout.left + column * (layout.cellWidth + layout.gap), y };
}

/** Return the index of the cell at a point, and its rung; null beside the cells. */
export function cellAt(layout: CellLayout, size: number, x: number, y: number): { index: number; rung: number } | null {
  const column = Math.floor((x - layout.left) / (layout.cellWidth + layout.gap));
  if (x < layout.left || column >= layout.columns) return null;
  const band = Math.floor((y - 1) / bandHeight(layout));
  const rung = Math.floor((y - 1 - band * bandHeight(layout)) / (layout.cellHeight + layout.gap));
  if (band < 0 || rung < 0 || rung >= layout.rungs) return null;
  const index = band * layout.columns + column;
  return index < size ? { index, rung } : null;
}

export function bandHeight(layout: CellLayout): number {
  return layout.rungs * (layout.cellHeight + layout.gap) + layout.bandGap;
}

export interface DrawnCells {
  cells: StageCells;
  layout: CellLayout;
  rungs: readonly string[];
  isActive: boolean;
  selected: ReadonlySet<number>;
  cursor: number;
}

const RUNNING = STATUS_ORDER.indexOf('running');
const ERROR = STATUS_ORDER.indexOf('error');

/** Draw the visible bands. Cells differ by fill and by a mark: a cross, a bar, a slash. */
export function drawCells(context: CanvasRenderingContext2D, drawn: DrawnCells, top: number, height: number): void {
  const { cells, layout, rungs, isActive, selected, cursor } = drawn;
  const { cellWidth: width, cellHeight } = layout;
  const tones = {
    new: colour('--waiting-fill'),
    ready: colour('--waiting-fill'),
    running: colour('--running-fill'),
    done: colour('--done-fill'),
    error: colour('--failed-fill'),
    retrying: colour('--retrying-fill'),
    skipped: colour('--skipped-fill'),
    cancelled: colour('--cancelled-fill'),
  };
  const ground = colour('--panel');
  const ink = colour('--text');
  const muted = colour('--text-muted');
  const accent = colour('--accent');
  const isLarge = width >= 12 && cellHeight >= 12;
  const first = Math.max(0, Math.floor(top / bandHeight(layout)));
  const last = Math.min(layout.bands - 1, Math.floor((top + height) / bandHeight(layout)));
  context.font = '11px ui-monospace, monospace';
  context.textBaseline = 'middle';
  for (let band = first; band <= last; band++) {
    const end = Math.min(cells.size, (band + 1) * layout.columns);
    for (let rung = 0; rung < layout.rungs; rung++) {
      if (layout.rungs > 1) {
        const { y } = placeOf(layout, band * layout.columns, rung);
        context.fillStyle = muted;
        context.textAlign = 'left';
        context.fillText(rungs[rung] ?? '', 0, y - top + cellHeight / 2);
      }
      for (let index = band * layout.columns; index < end; index++) {
        const place = placeOf(layout, index, rung);
        const x = place.x;
        const y = place.y - top;
        const code = cells.status[index] ?? 0;
        const name = STATUS_ORDER[code] ?? 'new';
        const attempt = cells.attempt[index] ?? 0;
        const tone = code === ERROR && isActive && attempt < cells.maxAttempts ? 'retrying' : name;
        if (tone === 'new' || tone === 'ready') {
          context.strokeStyle = tones.new;
          context.lineWidth = 1;
          context.strokeRect(x + 0.5, y + 0.5, width - 1, cellHeight - 1);
          if (tone === 'ready' && isLarge) {
            context.fillStyle = tones.new;
            context.fillRect(x + width / 2 - 1.5, y + cellHeight / 2 - 1.5, 3, 3);
          }
        } else if (tone === 'running') {
          const part = ((cells.percent[index] ?? 0) / 100) * (width - 2);
          context.globalAlpha = 0.28;
          context.fillStyle = tones.running;
          context.fillRect(x, y, width, cellHeight);
          context.globalAlpha = 1;
          context.fillRect(x + 1, y + 1, part, cellHeight - 2);
          context.strokeStyle = tones.running;
          context.lineWidth = 1;
          context.strokeRect(x + 0.5, y + 0.5, width - 1, cellHeight - 1);
        } else {
          context.fillStyle = tones[tone];
          context.fillRect(x, y, width, cellHeight);
          if (tone !== 'done') drawMark(context, tone, x, y, width, cellHeight, ground);
        }
        if (attempt > 1 && isLarge) {
          context.fillStyle = code === RUNNING || code < RUNNING ? tones.retrying : ground;
          context.beginPath();
          context.moveTo(x + width - 6, y);
          context.lineTo(x + width, y);
          context.lineTo(x + width, y + 6);
          context.fill();
        }
        if (selected.has(index)) {
          context.strokeStyle = ink;
          context.lineWidth = 2;
          context.strokeRect(x + 1, y + 1, width - 2, cellHeight - 2);
        }
        if (index === cursor) {
          context.strokeStyle = accent;
          context.lineWidth = 2;
          context.strokeRect(x - 0.5, y - 0.5, width + 1, cellHeight + 1);
        }
      }
    }
  }
}

/** Draw the mark of a state, so that colour is not needed to tell it. */
export function drawMark(context: CanvasRenderingContext2D, tone: string, x: number, y: number, width: number, height: number, ink: string): void {
  const size = Math.min(width, height, 16) * 0.28;
  const middleX = x + width / 2;
  const middleY = y + height / 2;
  context.strokeStyle = ink;
  context.lineWidth = Math.max(1, size / 2.4);
  context.beginPath();
  if (tone === 'error' || tone === 'retrying') {
    context.moveTo(middleX - size, middleY - size);
    context.lineTo(middleX + size, middleY + size);
    if (tone === 'error') {
      context.moveTo(middleX + size, middleY - size);
      context.lineTo(middleX - size, middleY + size);
    }
  } else if (tone === 'skipped') {
    context.moveTo(middleX - size, middleY);
    context.lineTo(middleX + size, middleY);
  } else {
    context.moveTo(middleX + size, middleY - size);
    context.lineTo(middleX - size, middleY + size);
  }
  context.stroke();
}

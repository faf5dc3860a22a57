/** The tasks of a stage as cells; for a transcode chunk × rung. Cells are looked at, opened, and selected to be retried. */

import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { now } from '../../clock';
import { Canvas } from '../../components/Canvas';
import { Status } from '../../components/Status';
import { Tip } from '../../components/Tip';
import { duration, number, plural } from '../../format';
import { cellAt, drawCells, layoutCells, placeOf, type CellLayout } from './cells';
import { commandOf, shortLine } from './commands';
import { countOf, rangesOf, type JobGrid, type StageCells } from './grid';
import { factsOf, sentenceOf, timeOf, type CellFacts, type TaskName } from './tasks';

const MAX_HEIGHT = 460;

export interface CellGridProps {
  job: string;
  grid: JobGrid;
  cells: StageCells;
  /** Names of the rungs that each chunk has; empty for a plain stage. */
  rungs: readonly string[];
  isActive: boolean;
  /** Whether selected parts can be retried. */
  canRetry: boolean;
  onOpen: (task: TaskName) => void;
  onRetry: (stage: string, parts: [number, number][]) => void;
}

export function CellGrid(props: CellGridProps) {
  const { grid, cells, rungs, isActive } = props;
  const layout = useRef<CellLayout>(layoutCells(cells.size, Math.max(1, rungs.length), 800));
  const scroller = useRef<HTMLDivElement | null>(null);
  const redraw = useRef<() => void>(() => undefined);
  const hover = useSignal<{ index: number; rung: number; x: number; y: number } | null>(null);
  const cursor = useSignal(-1);
  const selected = useSignal<ReadonlySet<number>>(new Set());
  const drag = useRef<{ from: number; base: ReadonlySet<number>; isMoved: boolean } | null>(null);
  const rows = Math.max(1, rungs.length);

  const at = (event: MouseEvent): { index: number; rung: number } | null => {
    const box = scroller.current?.getBoundingClientRect();
    if (!box) return null;
    return cellAt(layout.current, cells.size, event.clientX - box.left, event.clientY - box.top + (scroller.current?.scrollTop ?? 0));
  };
  const selectRange = (from: number, to: number, base: ReadonlySet<number>) => {
    const next = new Set(base);
    for (let index = Math.min(from, to); index <= Math.max(from, to); index++) next.add(index);
    selected.value = next;
  };
  const onPointerDown = (event: PointerEvent) => {
    const found = at(event);
    if (!found || event.button !== 0) return;
    drag.current = { from: found.index, base: event.shiftKey || event.ctrlKey || event.metaKey ? selected.value : new Set(), isMoved: false };
  };
  const onPointerMove = (event: PointerEvent) => {
    const found = at(event);
    hover.value = found && { ...found, x: event.clientX, y: event.clientY };
    if (!drag.current || !found || !props.canRetry) return;
    if (found.index !== drag.current.from) drag.current.isMoved = true;
    if (drag.current.isMoved) selectRange(drag.current.from, found.index, drag.current.base);
  };
  const onPointerUp = (event: PointerEvent) => {
    const started = drag.current;
    drag.current = null;
    const found = at(event);
    if (!started || !found || started.isMoved) return;
    if (props.canRetry && (event.ctrlKey || event.metaKey || event.shiftKey)) {
      if (event.shiftKey && cursor.value >= 0) selectRange(cursor.value, found.index, started.base);
      else selected.value = toggled(selected.value, found.index);
    } else props.onOpen(factsOf(grid, cells, found.index, isActive));
    cursor.value = found.index;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: layout.current.columns, ArrowUp: -layout.current.columns, Home: -cells.size, End: cells.size };
    const step = steps[event.key];
    if (step !== undefined) {
      event.preventDefault();
      const before = cursor.value;
      cursor.value = Math.max(0, Math.min(cells.size - 1, before < 0 ? 0 : before + step));
      if (event.shiftKey && props.canRetry) selectRange(Math.max(0, before), cursor.value, selected.value);
      reveal(scroller.current, layout.current, cursor.value);
    } else if (event.key === ' ' && cursor.value >= 0 && props.canRetry) {
      event.preventDefault();
      selected.value = toggled(selected.value, cursor.value);
    } else if (event.key === 'Enter' && cursor.value >= 0) {
      event.preventDefault();
      props.onOpen(factsOf(grid, cells, cursor.value, isActive));
    } else if (event.key === 'Escape') selected.value = new Set();
  };
  const shown = hover.value;
  for (const index of [shown?.index ?? -1, cursor.value]) if (index >= 0) grid.look(cells, index);
  const ranges = rangesOf(cells, [...selected.value]);
  return (
    <div class="cells">
      <div class="cells-head">
        <h3>{cells.name}</h3>
        <Counts cells={cells} isActive={isActive} />
        <span class="grow" />
        {selected.value.size > 0 && (
          <>
            <span class="muted">
              {plural(selected.value.size, 'part')}: {ranges.slice(0, 4).map(([first, last]) => (first === last ? first : `${first}–${last}`)).join(', ')}
              {ranges.length > 4 && ' …'}
            </span>
            <button type="button" class="button small" onClick={() => props.onRetry(cells.name, ranges)}>
              Retry {selected.value.size === 1 ? 'this part' : 'these parts'}
            </button>
            <button type="button" class="button small quiet" onClick={() => (selected.value = new Set())}>
              Clear
            </button>
          </>
        )}
      </div>
      <Canvas
        label={`Tasks of ${cells.name}: ${number(countOf(cells, 'done'))} of ${number(cells.size)} done. Arrows move, Enter opens${props.canRetry ? ', Space selects' : ''}.`}
        role="application"
        scroller={scroller}
        redraw={redraw}
        maxHeight={MAX_HEIGHT}
        contentHeight={(width) => {
          layout.current = layoutCells(cells.size, rows, width);
          return layout.current.height;
        }}
        version={[grid.revision, cells, isActive, selected.value, cursor.value, rows]}
        draw={(context, viewport) =>
          drawCells(context, { cells, layout: layout.current, rungs, isActive, selected: selected.value, cursor: cursor.value }, viewport.top, viewport.height)
        }
        canvas={{ tabIndex: 0, class: 'cells-canvas', onPointerDown, onPointerMove, onPointerUp, onPointerLeave: () => (hover.value = null), onKeyDown, onBlur: () => (cursor.value = -1) }}
      />
      {shown && <CellTip job={props.job} facts={factsOf(grid, cells, shown.index, isActive)} rung={rungs[shown.rung] ?? null} version={`${cells.version[shown.index]}`} x={shown.x} y={shown.y} />}
      {cursor.value >= 0 && (
        <div class="cells-cursor small" role="status">
          {sentenceOf(factsOf(grid, cells, cursor.value, isActive), now.value)}
        </div>
      )}
    </div>
  );
}

function toggled(set: ReadonlySet<number>, index: number): ReadonlySet<number> {
  const next = new Set(set);
  if (!next.delete(index)) next.add(index);
  return next;
}

function reveal(scroller: HTMLDivElement | null, layout: CellLayout, index: number): void {
  if (!scroller) return;
  const { y } = placeOf(layout, index);
  if (y < scroller.scrollTop) scroller.scrollTop = y - 4;
  else if (y + layout.cellHeight > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = y + layout.cellHeight + 4 - scroller.clientHeight;
}

function Counts({ cells, isActive }: { cells: StageCells; isActive: boolean }) {
  const shown = (
    [
      ['done', 'done'],
      ['running', 'running'],
      ['ready', 'ready'],
      ['new', 'new'],
      ['error', isActive ? 'retrying' : 'error'],
      ['skipped', 'skipped'],
      ['cancelled', 'cancelled'],
    ] as const
  ).filter(([status]) => countOf(cells, status) > 0);
  return (
    <span class="cells-counts small">
      {shown.map(([status, label]) => (
        <Status key={status} status={label} label={`${number(countOf(cells, status))} ${label}`} />
      ))}
    </span>
  );
}

function CellTip({ job, facts, rung, version, x, y }: { job: string; facts: CellFacts; rung: string | null; version: string; x: number; y: number }) {
  const step = facts.attempt ? commandOf(job, facts, version).value : null;
  const time = timeOf(facts, now.value);
  return (
    <Tip x={x} y={y}>
      <div class="row">
        <strong>
          {facts.stage} {facts.part}
          {rung && ` · ${rung}`}
        </strong>
        <Status status={facts.status} />
        {facts.status === 'running' && <span>{facts.percent} %</span>}
      </div>
      <div class="muted">
        {[
          facts.worker && `on ${facts.worker}`,
          facts.attempt > 0 && `attempt ${facts.attempt} of ${facts.maxAttempts}`,
          facts.lost > 0 && `lost ${plural(facts.lost, 'worker')}`,
          time !== null && (facts.status === 'running' ? `for ${duration(time)}` : `took ${duration(time)}`),
        ]
          .filter(Boolean)
          .join(' · ')}
      </div>
      {step && <code class="tip-command">{shortLine(step.argv)}</code>}
    </Tip>
  );
}

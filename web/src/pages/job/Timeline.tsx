/** When each worker ran what: attempts, retries, lost leases, and the gaps between them. */

import { useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { api } from '../../api/client';
import { now } from '../../clock';
import { Canvas } from '../../components/Canvas';
import { Icon } from '../../components/Icon';
import { EmptyState, Skeleton } from '../../components/States';
import { Status } from '../../components/Status';
import { Tip } from '../../components/Tip';
import { toastError } from '../../components/Toast';
import { clockTime, duration, number, plural } from '../../format';
import { following, listen } from '../../live/feed';
import type { EventMessage } from '../../api/types';
import { drawTimeline, AXIS, LABEL, rowHeightOf, runAt, timeAt, type View } from './draw';
import { layoutTimeline, OUTCOMES, Runs, type RunsDocument, type TimelineRow } from './runs';
import type { TaskName } from './tasks';

/** Runs of a page: the page of the browser stays idle for most of the time in which the next ones are read. */
const PAGE = 5_000;
const MAX_HEIGHT = 520;
/** The shortest span of a view, in milliseconds. */
const LEAST_SPAN = 5;

export function Timeline({ job, isActive, onOpen }: { job: string; isActive: boolean; onOpen: (task: TaskName) => void }) {
  const runs = useMemo(() => new Runs(), [job]);
  const revision = useSignal(0);
  const isRead = useSignal(false);
  const readSoFar = useSignal(0);
  const view = useSignal<View | null>(null);
  const hover = useSignal<{ run: number; x: number; y: number } | null>(null);
  const rows = useRef<TimelineRow[]>([]);
  const laidOut = useRef({ revision: -1, at: 0, cost: 0 });
  const later = useRef<ReturnType<typeof setTimeout> | null>(null);
  const scroller = useRef<HTMLDivElement | null>(null);
  const redraw = useRef<() => void>(() => undefined);
  const drag = useRef<{ x: number; y: number; top: number; view: View; isMoved: boolean } | null>(null);

  useEffect(() => {
    const abort = new AbortController();
    let early: EventMessage[] | null = [];
    const take = (events: EventMessage[]) => {
      if (early) early.push(...events);
      else {
        runs.apply(events);
        revision.value++;
      }
    };
    const read = async () => {
      early = [];
      await following();
      let after: string | null = null;
      do {
        const page: RunsDocument = await api.get('/api/v1/jobs/{job_id}/attempts', { path: { job_id: job }, query: { limit: PAGE, after }, signal: abort.signal });
        runs.add(page);
        readSoFar.value = runs.size;
        after = page.after;
      } while (after !== null);
      runs.apply(early ?? []);
      early = null;
      isRead.value = true;
      revision.value++;
    };
    const readSafely = () =>
      read().catch((error) => {
        if (!abort.signal.aborted) toastError(error);
      });
    const stop = listen({ job, batch: ({ events }) => take(events.filter((event): event is EventMessage => event.kind === 'event')), reset: () => void readSafely() });
    void readSafely();
    return () => {
      stop();
      abort.abort();
      if (later.current) clearTimeout(later.current);
    };
  }, [job]);

  const ends = runs.span(now.value);
  const pad = (ends[1] - ends[0]) * 0.02 + 20;
  const whole: View = { from: ends[0] - pad, to: ends[1] + pad };
  const shown = view.value ?? whole;
  const isMoving = runs.running > 0;

  const rowsNow = (): TimelineRow[] => {
    const { revision: known, at, cost } = laidOut.current;
    if (known === runs.revision) return rows.current;
    // A large layout is not made anew for every batch of events: it may take a tenth of the time.
    const start = performance.now();
    const isDue = known < 0 || start - at > cost * 10;
    if (isDue) {
      rows.current = layoutTimeline(runs, Date.now());
      laidOut.current = { revision: runs.revision, at: performance.now(), cost: performance.now() - start };
    } else if (!later.current) {
      later.current = setTimeout(() => {
        later.current = null;
        revision.value++;
      }, cost * 10);
    }
    return rows.current;
  };
  const set = (from: number, to: number) => {
    const least = Math.max(LEAST_SPAN, to - from);
    if (from <= whole.from && to >= whole.to) view.value = null;
    else view.value = { from, to: from + least };
  };
  const zoom = (factor: number, at?: number) => {
    const middle = at ?? (shown.from + shown.to) / 2;
    set(middle - (middle - shown.from) * factor, middle + (shown.to - middle) * factor);
  };
  const move = (part: number) => set(shown.from + (shown.to - shown.from) * part, shown.to + (shown.to - shown.from) * part);
  const local = (event: MouseEvent) => {
    const box = scroller.current?.getBoundingClientRect();
    return { x: event.clientX - (box?.left ?? 0), y: event.clientY - (box?.top ?? 0), width: scroller.current?.clientWidth ?? 0, top: scroller.current?.scrollTop ?? 0 };
  };
  const find = (event: MouseEvent) => {
    const { x, y, width, top } = local(event);
    return runAt(runs, rowsNow(), shown, width, x, y, top, Date.now());
  };

  if (!isRead.value) {
    return (
      <div class="stack">
        <span class="muted small">{readSoFar.value ? `${number(readSoFar.value)} runs read …` : 'Reading the runs …'}</span>
        <Skeleton lines={6} />
      </div>
    );
  }
  if (!runs.size) {
    return (
      <EmptyState icon="schedules" title="Nothing has run yet">
        <p>Each attempt of a task appears here when a worker claims it.</p>
      </EmptyState>
    );
  }
  const found = hover.value;
  return (
    <div class="timeline">
      <div class="cells-head">
        <span class="muted small">
          {plural(runs.size, 'run')} on {plural(runs.workers.length, 'worker')}
        </span>
        <span class="cells-counts small">
          {(['done', 'running', 'error', 'lost', 'released', 'cancelled', 'skipped'] as const).map((outcome) => {
            const total = runs.counts[OUTCOMES.indexOf(outcome)] ?? 0;
            return total > 0 && <Status key={outcome} status={outcome} label={`${number(total)} ${outcome}`} />;
          })}
        </span>
        <span class="grow" />
        <span class="muted small timeline-help">Ctrl and wheel zooms, dragging moves</span>
        <button type="button" class="button small icon" aria-label="Zoom in" title="Zoom in (+)" onClick={() => zoom(0.5)}>
          <Icon name="plus" />
        </button>
        <button type="button" class="button small icon" aria-label="Zoom out" title="Zoom out (-)" onClick={() => zoom(2)}>
          <Icon name="minus" />
        </button>
        <button type="button" class="button small" disabled={view.value === null} onClick={() => (view.value = null)}>
          Show all
        </button>
      </div>
      <Canvas
        label={`Timeline: ${number(runs.size)} runs. Plus and minus zoom, arrows move, 0 shows all.`}
        role="application"
        scroller={scroller}
        redraw={redraw}
        maxHeight={MAX_HEIGHT}
        contentHeight={() => AXIS + rowsNow().length * rowHeightOf(rowsNow().length) + 6}
        version={[revision.value, shown.from, shown.to, found?.run, isMoving ? now.value : 0]}
        draw={(context, viewport) => drawTimeline(context, { runs, rows: rowsNow(), view: view.value ?? whole, now: Date.now(), hover: found?.run ?? -1, isActive }, viewport)}
        canvas={{
          tabIndex: 0,
          class: 'timeline-canvas',
          onWheel: (event: WheelEvent) => {
            if (event.ctrlKey || event.metaKey) {
              event.preventDefault();
              const { x, width } = local(event);
              zoom(Math.exp(Math.max(-0.5, Math.min(0.5, event.deltaY / 200))), timeAt(shown, width, x));
            } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
              event.preventDefault();
              move(event.deltaX / Math.max(200, local(event).width));
            }
          },
          onPointerDown: (event: PointerEvent) => {
            drag.current = { x: event.clientX, y: event.clientY, top: scroller.current?.scrollTop ?? 0, view: shown, isMoved: false };
            (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
          },
          onPointerMove: (event: PointerEvent) => {
            const started = drag.current;
            if (started && (started.isMoved || Math.hypot(event.clientX - started.x, event.clientY - started.y) > 4)) {
              started.isMoved = true;
              const width = Math.max(1, local(event).width - LABEL);
              const by = ((started.x - event.clientX) / width) * (started.view.to - started.view.from);
              if (view.value !== null || by) view.value = { from: started.view.from + by, to: started.view.to + by };
              if (scroller.current) scroller.current.scrollTop = started.top + started.y - event.clientY;
              hover.value = null;
              return;
            }
            const run = find(event);
            hover.value = run < 0 ? null : { run, x: event.clientX, y: event.clientY };
          },
          onPointerUp: (event: PointerEvent) => {
            const started = drag.current;
            drag.current = null;
            if (started?.isMoved) return;
            const run = find(event);
            if (run >= 0) onOpen({ stage: runs.stages[runs.stage[run] ?? 0] ?? '', part: runs.part[run] ?? 0 });
          },
          onPointerLeave: () => (hover.value = null),
          onKeyDown: (event: KeyboardEvent) => {
            const actions: Record<string, () => void> = {
              '+': () => zoom(0.5),
              '=': () => zoom(0.5),
              '-': () => zoom(2),
              '0': () => (view.value = null),
              ArrowLeft: () => move(-0.2),
              ArrowRight: () => move(0.2),
            };
            const action = actions[event.key];
            if (!action) return;
            event.preventDefault();
            action();
          },
        }}
      />
      {found && <RunTip runs={runs} run={found.run} x={found.x} y={found.y} />}
    </div>
  );
}

function RunTip({ runs, run, x, y }: { runs: Runs; run: number; x: number; y: number }) {
  const start = runs.start[run] ?? 0;
  const end = runs.end[run] || now.value;
  const outcome = OUTCOMES[runs.outcome[run] ?? 0] ?? 'running';
  return (
    <Tip x={x} y={y}>
      <div class="row">
        <strong>
          {runs.stages[runs.stage[run] ?? 0]} {runs.part[run]}
        </strong>
        <Status status={outcome} />
      </div>
      <div class="muted">
        on {runs.workers[runs.worker[run] ?? -1] ?? 'an unknown worker'} · attempt {runs.attempt[run]} · {duration((end - start) / 1000)}
      </div>
      <div class="muted">
        {clockTime(start)} – {runs.end[run] ? clockTime(end) : 'now'}
      </div>
    </Tip>
  );
}

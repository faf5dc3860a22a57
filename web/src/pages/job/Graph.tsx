/** The graph of stages, with counts that move. */

import { Graph as Layout, layout } from '@dagrejs/dagre';
import { useMemo } from 'preact/hooks';
import type { Stage } from '../../api/types';
import { Mark } from '../../components/Icon';
import { number, shortNumber } from '../../format';
import { toneOf } from '../../status';
import { countOf, type JobGrid } from './grid';

const WIDTH = 106;
const HEIGHT = 46;

interface Placed {
  nodes: Map<string, { x: number; y: number }>;
  edges: { from: string; to: string; path: string }[];
  width: number;
  height: number;
}

/** Lay out the stages from left to right. */
export function placeStages(stages: readonly { name: string; after: readonly string[] }[]): Placed {
  const graph = new Layout();
  graph.setGraph({ rankdir: 'LR', ranksep: 20, nodesep: 10, marginx: 2, marginy: 2 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const stage of stages) graph.setNode(stage.name, { width: WIDTH, height: HEIGHT });
  for (const stage of stages) for (const before of stage.after) graph.setEdge(before, stage.name);
  layout(graph);
  const nodes = new Map(graph.nodes().map((name) => [name, { x: (graph.node(name).x ?? 0) - WIDTH / 2, y: (graph.node(name).y ?? 0) - HEIGHT / 2 }]));
  const edges = graph.edges().map(({ v, w }) => ({ from: v, to: w, path: curve(graph.edge(v, w).points ?? []) }));
  return { nodes, edges, width: graph.graph().width ?? 0, height: graph.graph().height ?? 0 };
}

function curve(points: readonly { x: number; y: number }[]): string {
  const [first, ...rest] = points;
  const last = rest.at(-1);
  if (!first || !last) return '';
  const bend = Math.max(10, (last.x - first.x) / 2);
  if (points.length <= 3) return `M${first.x},${first.y}C${first.x + bend},${first.y} ${last.x - bend},${last.y} ${last.x},${last.y}`;
  return `M${first.x},${first.y}${rest.map((point) => `L${point.x},${point.y}`).join('')}`;
}

export interface StageGraphProps {
  stages: readonly Stage[];
  grid: JobGrid | undefined;
  isActive: boolean;
  selected: string;
  onSelect: (stage: string) => void;
}

export function StageGraph(props: StageGraphProps) {
  const shape = props.stages.map((stage) => `${stage.name}<${stage.after.join(',')}`).join(';');
  const placed = useMemo(() => placeStages(props.stages), [shape]);
  return (
    <div class="graph-scroll" tabIndex={0} role="group" aria-label="Stages">
      <div class="graph" style={{ width: `${placed.width}px`, height: `${placed.height}px` }}>
        <svg width={placed.width} height={placed.height} aria-hidden="true">
          {placed.edges.map((edge) => (
            <path key={`${edge.from}>${edge.to}`} d={edge.path} data-passed={isOver(statusOf(find(props.stages, edge.from), props.grid, props.isActive))} />
          ))}
        </svg>
        {props.stages.map((stage) => {
          const at = placed.nodes.get(stage.name);
          return at && <Node key={stage.name} stage={stage} x={at.x} y={at.y} {...props} />;
        })}
      </div>
    </div>
  );
}

function Node({ stage, x, y, grid, isActive, selected, onSelect }: StageGraphProps & { stage: Stage; x: number; y: number }) {
  const cells = grid?.stages.get(stage.name);
  const total = cells?.size || stage.total;
  const done = cells ? countOf(cells, 'done') + countOf(cells, 'skipped') : stage.done + stage.skipped;
  const failed = cells ? countOf(cells, 'error') : stage.failed;
  const status = statusOf(stage, grid, isActive);
  const fraction = total ? (done + (cells?.runningPercent ?? 0) / 100) / total : isOver(status) ? 1 : 0;
  const text = total ? `${shortNumber(done)} / ${shortNumber(total)}` : stage.opened_at ? 'nothing to do' : stage.each ? 'fans out' : 'waits';
  return (
    <button
      type="button"
      class={`graph-node tone-${toneOf(status)}`}
      data-stage={stage.name}
      data-status={status}
      aria-pressed={selected === stage.name}
      aria-label={`${stage.name}: ${status}, ${text}${failed ? `, ${failed} failed` : ''}`}
      title={[stage.name, total ? `${number(done)} of ${number(total)}` : '', `phase ${stage.phase}`, stage.needs.length && `needs ${stage.needs.join(', ')}`, stage.waits_for.length && `no worker has ${stage.waits_for.join(', ')}`]
        .filter(Boolean)
        .join('\n')}
      style={{ left: `${x}px`, top: `${y}px`, width: `${WIDTH}px`, height: `${HEIGHT}px` }}
      onClick={() => onSelect(selected === stage.name ? '' : stage.name)}
    >
      <span class="graph-line">
        <Mark tone={toneOf(status)} />
        <span class="truncate graph-name">{stage.name}</span>
      </span>
      <span class="graph-line small muted">
        {text}
        {failed > 0 && <span class={isActive ? 'tone-retrying' : 'tone-failed'}>{number(failed)} ✕</span>}
      </span>
      <span class="graph-fill" style={{ transform: `scaleX(${Math.min(1, fraction)})` }} />
    </button>
  );
}

function find(stages: readonly Stage[], name: string): Stage | undefined {
  return stages.find((stage) => stage.name === name);
}

/** The status of a stage by its cells, which move before the document is read again. */
function statusOf(stage: Stage | undefined, grid: JobGrid | undefined, isActive: boolean): string {
  if (!stage) return 'new';
  const cells = grid?.stages.get(stage.name);
  if (!cells?.size) return stage.status;
  const finished = countOf(cells, 'done') + countOf(cells, 'skipped');
  if (finished === cells.size) return countOf(cells, 'skipped') === cells.size ? 'skipped' : 'done';
  if (countOf(cells, 'running')) return 'running';
  if (countOf(cells, 'error')) return isActive && countOf(cells, 'ready') + countOf(cells, 'error') > 0 && stage.status !== 'error' ? 'retrying' : 'error';
  if (countOf(cells, 'cancelled')) return 'cancelled';
  return isActive ? 'ready' : stage.status;
}

function isOver(status: string): boolean {
  return status === 'done' || status === 'skipped';
}

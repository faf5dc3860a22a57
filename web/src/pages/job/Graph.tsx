/** The graph of stages, with counts that move. */

import { useMemo } from 'preact/hooks';
import type { Stage } from '../../api/types';
import { Mark } from '../../components/Icon';
import { number, shortNumber } from '../../format';
import { layered } from '../../layered';
import { toneOf } from '../../status';
import { countOf, type JobGrid } from './grid';

/** Pixels of a stage: as wide as the longest name needs, within limits. */
const LEAST_WIDTH = 96;
const MAX_WIDTH = 190;
const BESIDE_NAME = 34;
const CHARACTER = 7.4;
export const HEIGHT = 46;

interface Placed {
  /** The width of each node. */
  nodeWidth: number;
  nodes: Map<string, { x: number; y: number }>;
  edges: { from: string; to: string; path: string }[];
  width: number;
  height: number;
}

/** Lay out the stages from left to right. */
export function placeStages(stages: readonly { name: string; after: readonly string[] }[]): Placed {
  const longest = stages.reduce((most, stage) => Math.max(most, stage.name.length), 0);
  const nodeWidth = Math.min(MAX_WIDTH, Math.max(LEAST_WIDTH, Math.ceil(BESIDE_NAME + CHARACTER * longest)));
  const { edges, ...placed } = layered(stages, { width: nodeWidth, height: HEIGHT, layerGap: 16, nodeGap: 10, margin: 2 });
  return { ...placed, nodeWidth, edges: edges.map(({ from, to, points }) => ({ from, to, path: curve(points) })) };
}

/** Join points by curves that leave and arrive level; two points at one height are joined by a line. */
function curve(points: readonly { x: number; y: number }[]): string {
  const [first, ...rest] = points;
  if (!first) return '';
  let path = `M${first.x},${first.y}`;
  let last = first;
  for (const point of rest) {
    const middle = (last.x + point.x) / 2;
    path += last.y === point.y ? `L${point.x},${point.y}` : `C${middle},${last.y} ${middle},${point.y} ${point.x},${point.y}`;
    last = point;
  }
  return path;
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
          return at && <Node key={stage.name} stage={stage} x={at.x} y={at.y} width={placed.nodeWidth} {...props} />;
        })}
      </div>
    </div>
  );
}

function Node({ stage, x, y, width, grid, isActive, selected, onSelect }: StageGraphProps & { stage: Stage; x: number; y: number; width: number }) {
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
      title={[stage.name, total ? `${number(done)} of ${number(total)}` : '', `phase ${stage.phase}`, stage.needs.length && `needs ${stage.needs.join(', ')}`, stage.waits_for.length && `no worker has ${stage.waits_for.join(', ')}`]
        .filter(Boolean)
        .join('\n')}
      style={{ left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${HEIGHT}px` }}
      onClick={() => onSelect(selected === stage.name ? '' : stage.name)}
    >
      <span class="graph-line">
        <Mark tone={toneOf(status)} />
        <span class="truncate graph-name">{stage.name}</span>
        <span class="visually-hidden">{status}</span>
      </span>
      <span class="graph-line small muted">
        {text}{' '}
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

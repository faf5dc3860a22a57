import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { colour, themeVersion } from '../theme';

export interface ChartSeries {
  label: string;
  /** A colour token, such as `--done-fill`. */
  token: string;
  style?: 'line' | 'area' | 'bars';
  dash?: number[];
  /** Show each value: where there are gaps, a line would show nothing. */
  points?: boolean;
}

export interface ChartProps {
  label: string;
  /** Seconds since 1970. */
  times: readonly number[];
  series: readonly ChartSeries[];
  values: readonly (readonly (number | null)[])[];
  height?: number;
  format?: (value: number) => string;
}

const LEGEND = 28;

/** A chart over time. New values redraw it; it follows the width of its place and the theme. */
export function Chart(props: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const height = props.height ?? 150;
  const version = themeVersion.value;
  const data = [props.times, ...props.values] as uPlot.AlignedData;

  useEffect(() => {
    const target = place.current;
    if (!target) return;
    const width = () => Math.max(120, target.clientWidth);
    const made = new uPlot(optionsOf(props, width(), height), data, target);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: width(), height }));
    observer.observe(target);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [version, height]);

  useEffect(() => {
    plot.current?.setData(data);
  }, [props.times, props.values]);

  return <div class="chart" ref={place} role="img" aria-label={props.label} style={{ minHeight: `${height + LEGEND}px` }} />;
}

function optionsOf(props: ChartProps, width: number, height: number): uPlot.Options {
  const format = props.format ?? String;
  const axis: uPlot.Axis = {
    stroke: colour('--text-muted'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
    font: '11px system-ui',
  };
  return {
    width,
    height,
    padding: [8, 8, 0, 0],
    cursor: { drag: { x: false, y: false }, points: { size: 6 } },
    scales: { y: { range: (_, __, max) => [0, Math.max(max * 1.1, 1)] } },
    axes: [
      { ...axis, size: 26, space: 70, values: (_, times) => times.map(minuteOf) },
      { ...axis, size: 66, values: (_, ticks) => ticks.map(format) },
    ],
    series: [{ label: 'time', value: (_, time) => (time === null ? '' : minuteOf(time)) }, ...props.series.map((each) => seriesOf(each, format))],
  };
}

function seriesOf(series: ChartSeries, format: (value: number) => string): uPlot.Series {
  const stroke = colour(series.token);
  const made: uPlot.Series = {
    label: series.label,
    stroke,
    width: 1.5,
    points: series.points ? { size: 4, fill: stroke } : { show: false },
    value: (_, value) => (value === null || value === undefined ? '–' : format(value)),
  };
  if (series.dash) made.dash = series.dash;
  if (series.style === 'area') made.fill = stroke.replace(/^rgba?\((.*?)\)$/, 'rgba($1, 0.14)');
  if (series.style === 'bars') {
    made.fill = stroke;
    made.width = 0;
    const paths = uPlot.paths.bars?.({ size: [0.75, 24] });
    if (paths) made.paths = paths;
  }
  return made;
}

function minuteOf(seconds: number): string {
  return new Date(seconds * 1000).toTimeString().slice(0, 5);
}

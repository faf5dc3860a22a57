import type { ComponentChildren, HTMLAttributes } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { themeVersion } from '../theme';

export interface Viewport {
  width: number;
  height: number;
  /** Pixels that the content is scrolled by. */
  top: number;
}

export interface CanvasProps {
  /** The height of the whole content; more than `maxHeight` scrolls, and only the visible part is drawn. */
  contentHeight: (width: number) => number;
  maxHeight: number;
  draw: (context: CanvasRenderingContext2D, viewport: Viewport) => void;
  /** Called when the width is known or has changed. */
  onWidth?: (width: number) => void;
  /** What the drawing depends on: it is drawn again when one changes. */
  version: readonly unknown[];
  label: string;
  role?: 'img' | 'application';
  canvas?: HTMLAttributes<HTMLDivElement>;
  /** Gets a function that draws again in the next frame. */
  redraw?: { current: () => void };
  /** Gets a function that returns the scrolled pixels. */
  scroller?: { current: HTMLDivElement | null };
  children?: ComponentChildren;
}

/** A canvas that fills the width of its place and draws what is visible of a tall content, once per frame at most. */
export function Canvas(props: CanvasProps) {
  const place = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const space = useRef<HTMLDivElement>(null);
  const frame = useRef(0);
  const width = useRef(0);
  const latest = useRef(props);
  latest.current = props;
  const theme = themeVersion.value;

  const paint = () => {
    frame.current = 0;
    const element = canvas.current;
    const outer = place.current;
    if (!element || !outer || !space.current || !width.current) return;
    const { contentHeight, maxHeight, draw } = latest.current;
    const content = Math.max(1, contentHeight(width.current));
    const height = Math.min(content, maxHeight);
    const ratio = globalThis.devicePixelRatio || 1;
    if (outer.clientHeight !== height) outer.style.height = `${height}px`;
    space.current.style.height = `${content}px`;
    if (element.width !== Math.round(width.current * ratio) || element.height !== Math.round(height * ratio)) {
      element.width = Math.round(width.current * ratio);
      element.height = Math.round(height * ratio);
      element.style.width = `${width.current}px`;
      element.style.height = `${height}px`;
    }
    const context = element.getContext('2d');
    if (!context) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width.current, height);
    draw(context, { width: width.current, height, top: outer.scrollTop });
  };
  const schedule = () => {
    frame.current ||= requestAnimationFrame(paint);
  };
  if (props.redraw) props.redraw.current = schedule;

  useLayoutEffect(() => {
    const outer = place.current;
    if (!outer) return;
    const measure = () => {
      if (!outer.clientWidth || outer.clientWidth === width.current) return;
      width.current = outer.clientWidth;
      latest.current.onWidth?.(width.current);
      paint();
    };
    const observer = new ResizeObserver(measure);
    observer.observe(outer);
    measure();
    if (props.scroller) props.scroller.current = outer;
    return () => {
      observer.disconnect();
      cancelAnimationFrame(frame.current);
    };
  }, []);

  useEffect(schedule, [...props.version, theme]);

  return (
    <div {...props.canvas} class={`canvas ${props.canvas?.class ?? ''}`} ref={place} onScroll={schedule} role={props.role ?? 'img'} aria-label={props.label}>
      <div class="canvas-space" ref={space}>
        <canvas ref={canvas} />
      </div>
      {props.children}
    </div>
  );
}

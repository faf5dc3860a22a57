import { Component, type ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Browsers clip elements that are taller than this; longer lists are scaled. */
const MAX_HEIGHT = 8_000_000;
const OVERSCAN = 6;

export interface VirtualListProps {
  count: number;
  rowHeight: number;
  label: string;
  row: (index: number) => ComponentChildren;
  /** The row that must be visible. */
  reveal?: number | undefined;
  /** Called when the last rows are near. */
  onEnd?: () => void;
  /** Stay at the last row while rows are added. */
  follow?: boolean;
  /** Called when the reader scrolls: whether the last row is visible. */
  onAtEnd?: (isAtEnd: boolean) => void;
  /** Called when the reader scrolls: whether the first row is visible. */
  onTop?: (isAtTop: boolean) => void;
  class?: string;
  /** Stays above the rows, and scrolls sideways with them. */
  head?: ComponentChildren;
  /** The least width of the rows in pixels; narrower places scroll sideways. */
  minWidth?: number;
  role?: 'list' | 'table' | 'log' | 'grid';
}

interface PooledRowProps {
  index: number;
  y: number;
  height: number;
  row: (index: number) => ComponentChildren;
}

/** One element of the pool. Scrolling renders it only when it gets another row. */
class PooledRow extends Component<PooledRowProps> {
  override shouldComponentUpdate(next: PooledRowProps): boolean {
    const { index, y, height, row } = this.props;
    return next.index !== index || next.y !== y || next.height !== height || next.row !== row;
  }

  override render({ index, y, height, row }: PooledRowProps) {
    return (
      <div class="virtual-row" style={{ transform: `translateY(${y}px)`, height: `${height}px` }}>
        {row(index)}
      </div>
    );
  }
}

/** A list of any length of which only the visible rows exist. Its height comes from its class. */
export function VirtualList(props: VirtualListProps) {
  const { count, rowHeight } = props;
  const element = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const frame = useRef(0);
  const handlers = useRef(props);
  handlers.current = props;

  useLayoutEffect(() => {
    const list = element.current;
    if (!list) return;
    const observer = new ResizeObserver(() => setHeight(list.clientHeight));
    observer.observe(list);
    setHeight(list.clientHeight);
    return () => {
      observer.disconnect();
      cancelAnimationFrame(frame.current);
    };
  }, []);

  const full = count * rowHeight;
  const shown = Math.min(full, MAX_HEIGHT);
  const scale = full > shown ? (full - height) / Math.max(1, shown - height) : 1;
  const offset = Math.max(0, Math.min(top * scale, full - height));
  const first = Math.max(0, Math.floor(offset / rowHeight) - OVERSCAN);
  const last = Math.min(count, Math.ceil((offset + height) / rowHeight) + OVERSCAN);
  // A row is placed relative to the scrolled position, so that scaled lists scroll smoothly, too.
  const shift = scale === 1 ? 0 : top - offset;

  useLayoutEffect(() => {
    const list = element.current;
    if (!list || props.reveal === undefined || props.reveal < 0) return;
    const start = (props.reveal * rowHeight) / scale;
    if (start < list.scrollTop) list.scrollTop = start;
    else if (start + rowHeight > list.scrollTop + list.clientHeight) list.scrollTop = start + rowHeight - list.clientHeight;
  }, [props.reveal]);

  useLayoutEffect(() => {
    const list = element.current;
    if (list && props.follow) list.scrollTop = list.scrollHeight;
  }, [props.follow, count]);

  useEffect(() => {
    if (last >= count - OVERSCAN && count > 0) props.onEnd?.();
  }, [last, count, props.onEnd]);

  const onScroll = () => {
    if (frame.current) return;
    frame.current = requestAnimationFrame(() => {
      frame.current = 0;
      const list = element.current;
      if (!list) return;
      setTop(list.scrollTop);
      handlers.current.onTop?.(list.scrollTop < rowHeight);
      handlers.current.onAtEnd?.(list.scrollTop + list.clientHeight >= list.scrollHeight - rowHeight);
    });
  };

  const width = props.minWidth ? { minWidth: `${props.minWidth}px` } : {};
  // Elements are reused as the list scrolls: row n and row n + pool are the same element.
  const pool = Math.ceil(height / rowHeight) + 2 * OVERSCAN + 2;
  const rows: ComponentChildren[] = [];
  for (let index = first; index < last; index++) {
    rows.push(
      <PooledRow key={index % pool} index={index} y={index * rowHeight + shift} height={rowHeight} row={props.row} />,
    );
  }
  return (
    <div class={`virtual ${props.class ?? ''}`} ref={element} onScroll={onScroll} tabIndex={0} role={props.role} aria-label={props.label}>
      {props.head && (
        <div class="virtual-head" style={width}>
          {props.head}
        </div>
      )}
      <div class="virtual-space" style={{ height: `${shown}px`, ...width }}>
        {rows}
      </div>
    </div>
  );
}

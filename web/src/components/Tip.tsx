import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

/** A note beside the pointer or a cell; it stays within the window. */
export function Tip({ x, y, children }: { x: number; y: number; children: ComponentChildren }) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const tip = element.current;
    if (!tip) return;
    const { width, height } = tip.getBoundingClientRect();
    const left = Math.max(8, Math.min(x + 14, innerWidth - width - 8));
    const below = y + 18;
    tip.style.left = `${left}px`;
    tip.style.top = `${below + height > innerHeight - 8 ? Math.max(8, y - height - 12) : below}px`;
  });
  return (
    <div class="tip" ref={element}>
      {children}
    </div>
  );
}

import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

const ITEMS = '.menu-list button, .menu-list a, .menu-list input';

/** A button that opens a list of items; arrows move, Escape closes. */
export function Menu(props: {
  label: ComponentChildren;
  /** The name of a button that only has an icon. */
  name?: string;
  buttonClass?: string;
  align?: 'left' | 'right';
  staysOpen?: boolean;
  children: ComponentChildren;
}) {
  const [isOpen, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    const outside = (event: Event) => {
      if (!root.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener('pointerdown', outside);
    root.current?.querySelector<HTMLElement>(ITEMS)?.focus();
    return () => document.removeEventListener('pointerdown', outside);
  }, [isOpen]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (!isOpen) return;
    if (event.key === 'Escape') {
      event.stopPropagation();
      setOpen(false);
      root.current?.querySelector<HTMLElement>('button')?.focus();
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      const items = [...(root.current?.querySelectorAll<HTMLElement>(ITEMS) ?? [])];
      const step = event.key === 'ArrowDown' ? 1 : -1;
      const index = items.indexOf(document.activeElement as HTMLElement);
      items[(index + step + items.length) % items.length]?.focus();
    }
  };
  return (
    <div class="menu" ref={root} onKeyDown={onKeyDown}>
      <button
        type="button"
        class={props.buttonClass ?? 'button'}
        aria-expanded={isOpen}
        aria-label={props.name}
        title={props.name}
        onClick={() => setOpen(!isOpen)}
      >
        {props.label}
      </button>
      {isOpen && (
        <div
          class="menu-list"
          data-align={props.align ?? 'right'}
          onClick={(event) => {
            if (!props.staysOpen && (event.target as Element).closest('button, a')) setOpen(false);
          }}
        >
          {props.children}
        </div>
      )}
    </div>
  );
}

import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';

export interface TabItem {
  id: string;
  label: ComponentChildren;
  count?: string | undefined;
}

/** Tabs: arrows move between them. */
export function Tabs(props: { label: string; tabs: readonly TabItem[]; current: string; onSelect: (id: string) => void }) {
  const list = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (!step) return;
    event.preventDefault();
    const index = props.tabs.findIndex((tab) => tab.id === props.current);
    const next = (index + step + props.tabs.length) % props.tabs.length;
    const tab = props.tabs[next];
    if (!tab) return;
    props.onSelect(tab.id);
    list.current?.querySelectorAll<HTMLElement>('[role=tab]')[next]?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={props.label} ref={list} onKeyDown={onKeyDown}>
      {props.tabs.map((tab) => (
        <button
          key={tab.id}
          type="button"
          role="tab"
          class="tab"
          data-tab={tab.id}
          aria-selected={tab.id === props.current}
          tabIndex={tab.id === props.current ? 0 : -1}
          onClick={() => props.onSelect(tab.id)}
        >
          {tab.label}
          {tab.count !== undefined && <span class="tab-count">{tab.count}</span>}
        </button>
      ))}
    </div>
  );
}

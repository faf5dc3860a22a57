import type { ComponentChildren } from 'preact';

/** A titled box; `isFlush` lets a table reach its edges. */
export function Panel(props: {
  title: ComponentChildren;
  actions?: ComponentChildren;
  isFlush?: boolean;
  class?: string;
  children: ComponentChildren;
}) {
  return (
    <section class={`panel ${props.class ?? ''}`}>
      <div class="panel-head">
        <h2>{props.title}</h2>
        {props.actions}
      </div>
      <div class={props.isFlush ? '' : 'panel-body'}>{props.children}</div>
    </section>
  );
}

/** Media queries as signals. */

import { signal, type ReadonlySignal } from '@preact/signals';

/** Return whether a media query matches, as a signal. */
export function mediaSignal(text: string): ReadonlySignal<boolean> {
  const list = globalThis.matchMedia?.(text);
  const made = signal(list?.matches ?? false);
  list?.addEventListener('change', (event) => {
    made.value = event.matches;
  });
  return made;
}

/** Whether the page is too narrow for rows with columns. */
export const isNarrow = mediaSignal('(max-width: 700px)');

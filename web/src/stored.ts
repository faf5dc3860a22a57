/** Signals that the browser remembers: choices of the reader such as columns. */

import { effect, signal, type Signal } from '@preact/signals';

/** Return a signal that starts with the stored value and stores its changes. */
export function storedSignal<T>(name: string, initial: T, valid: (value: unknown) => value is T): Signal<T> {
  const key = `reelstate.${name}`;
  let start = initial;
  try {
    const text = localStorage.getItem(key);
    const value: unknown = text === null ? initial : JSON.parse(text);
    if (valid(value)) start = value;
  } catch {
    // Storage is blocked or holds something else.
  }
  const made = signal(start);
  effect(() => {
    const text = JSON.stringify(made.value);
    try {
      localStorage.setItem(key, text);
    } catch {
      // The choice lasts as long as the page.
    }
  });
  return made;
}

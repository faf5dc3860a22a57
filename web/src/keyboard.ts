/** Shortcuts: of the whole dashboard, and of the page that is shown. */

import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

export interface Shortcut {
  /** One key as in `KeyboardEvent.key`, or two in a row such as `g j`. */
  keys: string;
  label: string;
  run: () => void;
}

/** All shortcuts in force, for the page of help. */
export const shortcuts = signal<readonly Shortcut[]>([]);
const SEQUENCE = 1200;
let first: { key: string; at: number } | null = null;

/** Register shortcuts; the returned function removes them. */
export function addShortcuts(added: readonly Shortcut[]): () => void {
  shortcuts.value = [...shortcuts.peek(), ...added];
  return () => {
    shortcuts.value = shortcuts.peek().filter((each) => !added.includes(each));
  };
}

/** Register shortcuts while a component is shown. */
export function useShortcuts(added: readonly Shortcut[], keys: readonly unknown[]): void {
  useEffect(() => addShortcuts(added), keys);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('input, textarea, select, [contenteditable]') !== null;
}

export function startKeyboard(): void {
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTyping(event.target) || document.querySelector('dialog[open]')) return;
    const sequence = first && Date.now() - first.at < SEQUENCE ? `${first.key} ${event.key}` : null;
    const find = (keys: string) => shortcuts.peek().findLast((each) => each.keys === keys);
    const found = (sequence && find(sequence)) || find(event.key);
    const starts = shortcuts.peek().some((each) => each.keys.startsWith(`${event.key} `));
    first = starts && !sequence ? { key: event.key, at: Date.now() } : null;
    // Enter and the arrows belong to a focused button or link.
    if (event.key === 'Enter' && event.target instanceof Element && event.target.closest('button, a, summary')) return;
    if (!found) return;
    event.preventDefault();
    found.run();
  });
}

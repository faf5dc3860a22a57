/** The theme: of the system, or a stored choice. */

import { signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';
const KEY = 'reelstate.theme';

function stored(): Theme {
  try {
    const value = localStorage.getItem(KEY);
    return value === 'light' || value === 'dark' ? value : 'system';
  } catch {
    return 'system';
  }
}

export const theme = signal<Theme>(stored());
/** Counts changes of the theme, also of the system's: canvases draw again. */
export const themeVersion = signal(0);

export function setTheme(next: Theme): void {
  theme.value = next;
  if (next === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = next;
  try {
    if (next === 'system') localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, next);
  } catch {
    // Storage is blocked: the choice lasts as long as the page.
  }
  colours.clear();
  themeVersion.value++;
}

/** Switch to the other of dark and light. */
export function toggleTheme(): void {
  const dark = theme.value === 'dark' || (theme.value === 'system' && matchMedia('(prefers-color-scheme: dark)').matches);
  setTheme(dark ? 'light' : 'dark');
}

globalThis.matchMedia?.('(prefers-color-scheme: dark)').addEventListener('change', () => {
  colours.clear();
  themeVersion.value++;
});

const colours = new Map<string, string>();

/** Return the colour of a design token, such as `--running`, as canvases need it. */
export function colour(token: string): string {
  const known = colours.get(token);
  if (known !== undefined) return known;
  const probe = document.createElement('span');
  probe.style.color = `var(${token})`;
  probe.hidden = true;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  colours.set(token, value);
  return value;
}

export const reducedMotion = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

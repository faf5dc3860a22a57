/** One ticking clock for every relative time of the page. */

import { signal } from '@preact/signals';

/** Milliseconds since 1970, once a second; it stops in a hidden tab. */
export const now = signal(Date.now());

export function startClock(): void {
  const tick = () => {
    if (!document.hidden) now.value = Date.now();
  };
  setInterval(tick, 1000);
  document.addEventListener('visibilitychange', tick);
}

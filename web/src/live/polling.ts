/** Reads what has no events again, in intervals, while the tab is visible and the reader does not wait for an answer. */

import { useEffect } from 'preact/hooks';
import type { Resource } from './resource';

export function usePolling(resource: Resource<unknown>, milliseconds: number): void {
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden && !resource.isLoading.peek()) void resource.reload();
    }, milliseconds);
    return () => clearInterval(timer);
  }, [resource, milliseconds]);
}

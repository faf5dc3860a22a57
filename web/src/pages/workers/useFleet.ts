/** The fleet as a resource: events move tasks, and the workers are read again for heartbeats. */

import { useEffect, useRef } from 'preact/hooks';
import type { EventMessage } from '../../api/types';
import { useResource, type Resource } from '../../live/resource';
import { applyToFleet, readFleet, type Fleet } from './fleet';

/** Milliseconds between two reads: a heartbeat is no event. */
const EVERY = 5000;

export function useFleet(): Resource<Fleet> {
  const last = useRef<Fleet | undefined>(undefined);
  const fleet = useResource<Fleet>(
    () => ({
      progress: true,
      load: (signal) => readFleet(last.current, signal),
      apply: (value, batch, reload) => {
        const events = batch.events.filter((event): event is EventMessage => event.kind === 'event');
        const applied = applyToFleet(value, events, batch.progress);
        if (applied.needsRead) reload();
        return applied.fleet;
      },
      every: 500,
    }),
    [],
  );
  last.current = fleet.value.value;
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) void fleet.reload();
    }, EVERY);
    return () => clearInterval(timer);
  }, [fleet]);
  return fleet;
}

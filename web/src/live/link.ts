/**
 * The way from a tab to the hub: a shared worker; where there is none, a tab that leads and a broadcast channel; else a
 * hub of this tab alone.
 */

import { Hub } from './hub';
import type { HubMessage, HubPort, TabMessage } from './protocol';

export interface Link {
  send(message: TabMessage): void;
}
type Receive = (message: HubMessage) => void;

const NAME = 'reelstate.live';

/** `rejoin` is called when another tab has taken over the stream. */
export function openLink(receive: Receive, rejoin: () => void): Link {
  if (typeof SharedWorker !== 'undefined') {
    try {
      const worker = new SharedWorker(new URL('./worker.ts', import.meta.url), { type: 'module', name: NAME });
      worker.port.onmessage = (event: MessageEvent<HubMessage>) => receive(event.data);
      return { send: (message) => worker.port.postMessage(message) };
    } catch {
      // A policy of the browser forbids workers.
    }
  }
  if (typeof BroadcastChannel !== 'undefined' && navigator.locks) return sharedByLeader(receive, rejoin);
  return ownHub(receive);
}

function ownHub(receive: Receive): Link {
  const hub = new Hub();
  const port: HubPort = { send: (message) => queueMicrotask(() => receive(message)) };
  return { send: (message) => hub.receive(port, message) };
}

type Parcel =
  | { from: string; message: TabMessage }
  | { to: string; message: HubMessage }
  | { leader: string };

function sharedByLeader(receive: Receive, rejoin: () => void): Link {
  const own = crypto.getRandomValues(new Uint32Array(2)).join('-');
  const channel = new BroadcastChannel(NAME);
  let hub: Hub | null = null;
  const ports = new Map<string, HubPort>();
  const deliver = (from: string, message: TabMessage) => {
    if (!hub) return;
    let port = ports.get(from);
    if (!port) {
      const send = from === own ? receive : (answer: HubMessage) => channel.postMessage({ to: from, message: answer } satisfies Parcel);
      port = { send };
      ports.set(from, port);
    }
    hub.receive(port, message);
    if (message.type === 'leave') ports.delete(from);
  };
  channel.onmessage = (event: MessageEvent<Parcel>) => {
    const parcel = event.data;
    if ('leader' in parcel) rejoin();
    else if ('from' in parcel) deliver(parcel.from, parcel.message);
    else if (parcel.to === own) receive(parcel.message);
  };
  void navigator.locks.request(NAME, () => {
    hub = new Hub();
    channel.postMessage({ leader: own } satisfies Parcel);
    rejoin();
    return new Promise(() => undefined); // held until the tab is closed
  });
  return {
    send: (message) => (hub ? deliver(own, message) : channel.postMessage({ from: own, message } satisfies Parcel)),
  };
}

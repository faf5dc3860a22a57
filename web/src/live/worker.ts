/** The shared worker of all tabs of a browser: it holds the hub. */

import { Hub } from './hub';
import type { TabMessage } from './protocol';

interface ConnectEvent extends Event {
  ports: MessagePort[];
}

const hub = new Hub();
addEventListener('connect', (event) => {
  const port = (event as ConnectEvent).ports[0];
  if (!port) return;
  const tab = { send: (message: unknown) => port.postMessage(message) };
  port.onmessage = (message: MessageEvent<TabMessage>) => hub.receive(tab, message.data);
});

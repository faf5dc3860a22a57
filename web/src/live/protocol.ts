/** What tabs and the hub say to each other. The hub owns the one stream of the browser. */

import type { EventMessage, Progress, StateMessage } from '../api/types';

export type LiveEvent = EventMessage | StateMessage;

/**
 * connecting: the first connection is being made · live: everything is shown as it happens · behind: missed events are
 * being sent · stale: the server cannot reach its database · lost: no connection, trying again · ended: the session is over
 */
export type Connection = 'connecting' | 'live' | 'behind' | 'stale' | 'lost' | 'ended';

/** What a tab wants to receive: events of all jobs or of some, and with or without progress. */
export interface Interest {
  all: boolean;
  progress: boolean;
  jobs: readonly string[];
}

export type TabMessage =
  | { type: 'hello'; root: string }
  | { type: 'interest'; interest: Interest; number: number }
  | { type: 'taken' }
  | { type: 'retry' }
  | { type: 'leave' };

export type HubMessage =
  | { type: 'connection'; connection: Connection; since: number }
  /** The interest with this number is in force: later events arrive. */
  | { type: 'interest'; number: number }
  /** Events may have been missed: read the current state again. */
  | { type: 'reset' }
  | { type: 'batch'; events: LiveEvent[]; progress: Progress[] };

/** One tab, as the hub sees it. */
export interface HubPort {
  send(message: HubMessage): void;
}

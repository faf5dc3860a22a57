/** The health of an endpoint, by its newest deliveries. Pure. */

import type { Delivery, Webhook } from '../../api/types';

export interface Health {
  status: 'delivered' | 'failing' | 'disabled' | 'unused';
  /** Deliveries of the newest ones, by status. */
  delivered: number;
  pending: number;
  failed: number;
  /** When the last attempt was made. */
  lastAt: string | null;
  lastStatus: number | null;
}

export function healthOf(webhook: Pick<Webhook, 'enabled' | 'failing_since'>, deliveries: readonly Pick<Delivery, 'status' | 'attempts'>[]): Health {
  const attempts = deliveries.flatMap((each) => each.attempts);
  const last = attempts.reduce<(typeof attempts)[number] | null>((newest, each) => (newest === null || Date.parse(each.at) > Date.parse(newest.at) ? each : newest), null);
  const count = (status: string) => deliveries.filter((each) => each.status === status).length;
  const isFailing = webhook.failing_since !== null || (last !== null && (last.status === null || last.status >= 300));
  return {
    status: !webhook.enabled ? 'disabled' : isFailing ? 'failing' : deliveries.length ? 'delivered' : 'unused',
    delivered: count('delivered'),
    pending: count('pending'),
    failed: count('failed'),
    lastAt: last?.at ?? null,
    lastStatus: last?.status ?? null,
  };
}

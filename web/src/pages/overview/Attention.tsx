/** What an operator should look at, with a way to get there. */

import type { components } from '../../api/schema';
import { Icon, type IconName } from '../../components/Icon';
import { Time } from '../../components/Time';
import { hrefOf } from '../../router';

export type AttentionItem = components['schemas']['AttentionDocument'];

const ICONS: Record<AttentionItem['kind'], IconName> = {
  quarantined: 'shield',
  flagged: 'warning',
  failed: 'close',
  no_worker: 'workers',
  stuck: 'schedules',
  paused: 'pauses',
  webhook: 'webhooks',
  keeper: 'machines',
};

/** Return where to look: one job at once, several as a list. */
export function linkOf(item: AttentionItem): string | null {
  const isOne = item.count.count === 1 && !item.count.capped && item.job !== null;
  switch (item.kind) {
    case 'quarantined':
    case 'failed':
      return isOne ? hrefOf(['jobs', String(item.job)]) : hrefOf(['jobs'], { status: item.kind, pipeline: item.pipeline ?? undefined });
    case 'flagged':
      return isOne ? hrefOf(['jobs', String(item.job)]) : hrefOf(['jobs'], { flagged: 'true' });
    case 'no_worker':
    case 'stuck':
      return item.job !== null ? hrefOf(['jobs', String(item.job)]) : hrefOf(['workers']);
    case 'paused':
      return hrefOf(['pauses']);
    case 'webhook':
      return item.webhook ? hrefOf(['webhooks', item.webhook]) : hrefOf(['webhooks']);
    case 'keeper':
      return hrefOf(['workers']);
  }
}

export function AttentionList({ items }: { items: readonly AttentionItem[] }) {
  if (!items.length) {
    return (
      <p class="calm">
        <span class="tone-done">
          <Icon name="check" />
        </span>
        Nothing needs attention.
      </p>
    );
  }
  return (
    <ul class="attention">
      {items.map((item, index) => {
        const href = linkOf(item);
        const body = (
          <>
            <span class={item.severity === 'error' ? 'tone-failed' : item.severity === 'warning' ? 'tone-retrying' : 'tone-waiting'}>
              <Icon name={ICONS[item.kind]} />
            </span>
            <span class="grow">
              <strong>{item.title}</strong>
              {item.detail && <span class="muted attention-detail">{item.detail}</span>}
            </span>
            {item.since && (
              <span class="muted small">
                <Time at={item.since} />
              </span>
            )}
          </>
        );
        return (
          <li key={`${item.kind}${index}`} data-kind={item.kind}>
            {href ? (
              <a class="attention-item" href={href}>
                {body}
                <Icon name="right" />
              </a>
            ) : (
              <span class="attention-item">{body}</span>
            )}
          </li>
        );
      })}
    </ul>
  );
}

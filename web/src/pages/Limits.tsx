/** Limits: how many tasks run at once or start in a period, who set them, and the keys that use them. */

import { useState } from 'preact/hooks';
import { api } from '../api/client';
import type { Limit, LimitUse } from '../api/types';
import { confirm } from '../components/Confirm';
import { Command } from '../components/Copy';
import { Icon } from '../components/Icon';
import { Panel } from '../components/Panel';
import { EmptyState, ErrorState, Skeleton } from '../components/States';
import { Table } from '../components/Table';
import { Time } from '../components/Time';
import { toast } from '../components/Toast';
import { count, number, plural } from '../format';
import { useShortcuts } from '../keyboard';
import { usePolling } from '../live/polling';
import { useResource } from '../live/resource';
import { hrefOf, navigate } from '../router';
import type { PageProps } from '../routes';
import { useTitle } from '../Shell';
import '../styles/tables.css';
import { EditLimit } from './limits/Edit';
import { sentenceOf } from './limits/limit';

/** Tasks that wait are counted up to this number. */
const MAX_WAITING = 1000;

export default function Limits({ params }: PageProps) {
  return params['name'] ? <OneLimit key={params['name']} name={params['name']} /> : <List />;
}

function List() {
  const list = useResource(() => ({ load: (signal) => api.get('/api/v1/limits', { signal }), matters: () => false }), []);
  usePolling(list, 4000);
  const [isNew, setNew] = useState(false);
  useShortcuts([{ keys: 'n', label: 'New limit', run: () => setNew(true) }], []);
  const limits = list.value.value;
  if (!limits) return list.error.value ? <ErrorState error={list.error.value} retry={() => list.reload()} /> : <Skeleton lines={6} />;
  return (
    <div class="stack">
      <div class="row wrap">
        <span class="grow" />
        <button type="button" class="button primary" onClick={() => setNew(true)}>
          <Icon name="plus" /> New limit
        </button>
      </div>
      {limits.length === 0 ? (
        <EmptyState icon="limits" title="No limits yet">
          <p>A limit bounds how many tasks run at once or start in a period, or lets users and other keys take turns. Tasks above it wait.</p>
          <Command text={'reel limits set customers --per spec.customer --running 4'} />
        </EmptyState>
      ) : (
        <Panel title={plural(limits.length, 'limit')} isFlush>
          <Table
            rows={limits}
            keyOf={(limit) => limit.id}
            attributes={(limit) => ({ 'data-limit': limit.name })}
            columns={[
              {
                label: 'Limit',
                kind: 'text',
                cell: (limit) => (
                  <span>
                    <a href={hrefOf(['limits', limit.name])}>
                      <strong>{limit.name}</strong>
                    </a>{' '}
                    {limit.declared && <span class="tag">comes with a pipeline</span>}
                  </span>
                ),
              },
              { label: 'Admits', kind: 'text', cell: sentenceOf },
              { label: 'Why', kind: 'text', cell: (limit) => limit.reason || <span class="muted">no reason given</span> },
              { label: 'By', kind: 'text', cell: (limit) => limit.actor },
              { label: 'Changed', cell: (limit) => <Time at={limit.changed_at} /> },
              {
                label: 'Actions',
                kind: 'actions',
                cell: (limit) => (
                  <button type="button" class="button small" aria-label={`Remove ${limit.name}`} onClick={() => askRemove(limit.name, () => void list.reload())}>
                    <Icon name="trash" /> Remove
                  </button>
                ),
              },
            ]}
          />
        </Panel>
      )}
      {isNew && <EditLimit limit={null} names={limits.map((each) => each.name)} onClose={() => setNew(false)} onDone={() => void list.reload()} />}
    </div>
  );
}

function askRemove(name: string, done: () => void): void {
  confirm({
    title: `Remove ${name}?`,
    body: <p>What waits for it alone can be claimed at once. The record of the limit stays.</p>,
    action: 'Remove',
    isDangerous: true,
    reason: 'optional',
    run: async (reason) => {
      await api.delete('/api/v1/limits/{name}', { path: { name }, query: { reason } });
      toast('The limit is removed');
      done();
    },
  });
}

function OneLimit({ name }: { name: string }) {
  const resource = useResource(() => ({ load: (signal) => api.get('/api/v1/limits/{name}', { path: { name }, signal }), matters: () => false }), [name]);
  usePolling(resource, 4000);
  const [isEdited, setEdited] = useState(false);
  useTitle(name);
  const limit = resource.value.value;
  const error = resource.error.value;
  if (error && (!limit || error.status === 404)) return <ErrorState error={error} retry={() => resource.reload()} />;
  if (!limit) return <Skeleton lines={8} />;
  return (
    <div class="stack">
      <div class="row wrap">
        <a class="button quiet" href={hrefOf(['limits'])}>
          <Icon name="left" /> All limits
        </a>
        <span class="grow" />
        <button type="button" class="button" onClick={() => setEdited(true)}>
          <Icon name="edit" /> Change
        </button>
        <button type="button" class="button danger" onClick={() => askRemove(name, () => navigate(hrefOf(['limits'])))}>
          <Icon name="trash" /> Remove
        </button>
      </div>
      <Panel title={sentenceOf(limit)}>
        <Facts limit={limit} />
      </Panel>
      <Panel title="Keys with most tasks" isFlush>
        {limit.uses.length === 0 ? <p class="panel-body muted">No task is selected by it now.</p> : <Uses limit={limit} uses={limit.uses} />}
      </Panel>
      {isEdited && <EditLimit limit={limit} names={[]} onClose={() => setEdited(false)} onDone={() => void resource.reload()} />}
    </div>
  );
}

function Facts({ limit }: { limit: Limit }) {
  const weights = Object.entries(limit.weights);
  return (
    <dl class="facts">
      <dt>Tasks</dt>
      <dd>
        {limit.pipeline ? (
          <>
            of <a class="in-text" href={hrefOf(['pipelines', limit.pipeline])}>{limit.pipeline}</a>
            {limit.stage && <strong>/{limit.stage}</strong>}
          </>
        ) : (
          'of every pipeline'
        )}
        {limit.user_id && `, of user ${limit.user_id}`}
      </dd>
      <dt>Counted</dt>
      <dd>{limit.per ? <>apart for each <code>{limit.per}</code></> : 'together'}</dd>
      {weights.length > 0 && (
        <>
          <dt>Weights</dt>
          <dd>{weights.map(([key, weight]) => `${key}: ${weight}`).join(', ')}</dd>
        </>
      )}
      <dt>Why</dt>
      <dd>{limit.reason || <span class="muted">no reason given</span>}</dd>
      <dt>Set</dt>
      <dd>
        <Time at={limit.changed_at} /> <span class="muted">by {limit.actor}</span> {limit.declared && <span class="tag">comes with a pipeline</span>}
      </dd>
    </dl>
  );
}

function Uses({ limit, uses }: { limit: Limit; uses: readonly LimitUse[] }) {
  const of = (used: number, most: number | null) => (most === null ? number(used) : `${number(used)} of ${number(most)}`);
  return (
    <Table
      rows={uses}
      keyOf={(use) => use.key}
      attributes={(use) => ({ 'data-use': use.key })}
      columns={[
        { label: 'Key', kind: 'text', cell: (use) => <UseKey per={limit.per} value={use.key} /> },
        { label: 'Running', kind: 'number', cell: (use) => of(use.running, limit.running), title: () => 'Tasks that run or are the next to be claimed' },
        limit.starts !== null && { label: 'Started', kind: 'number', cell: (use) => of(use.starts, limit.starts), title: () => `Within ${limit.period} s` },
        { label: 'Waiting', kind: 'number', cell: (use) => count(use.waiting, use.waiting >= MAX_WAITING) },
      ]}
    />
  );
}

function UseKey({ per, value }: { per: string | null; value: string }) {
  if (per === null) return <span class="muted">all tasks</span>;
  if (per === 'user') return <a href={hrefOf(['jobs'], { user: value })}>{value}</a>;
  if (per === 'job') return <a href={hrefOf(['jobs', value])}>{value}</a>;
  return <>{value}</>;
}

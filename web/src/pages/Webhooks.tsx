/** Endpoints that are told of events, and the deliveries to them. */

import { useState } from 'preact/hooks';
import { api } from '../api/client';
import type { Delivery, Webhook } from '../api/types';
import { Checklist } from '../components/Checklist';
import { confirm } from '../components/Confirm';
import { Command, CopyButton } from '../components/Copy';
import { Field, FormDialog } from '../components/Field';
import { Icon } from '../components/Icon';
import { Panel } from '../components/Panel';
import { RotateDialog } from '../components/Rotate';
import { SecretDialog, type ShownSecret } from '../components/Secret';
import { EmptyState, ErrorState, Skeleton } from '../components/States';
import { Status } from '../components/Status';
import { Table } from '../components/Table';
import { Time } from '../components/Time';
import { toast, toastError } from '../components/Toast';
import { duration, plural } from '../format';
import { useShortcuts } from '../keyboard';
import { usePolling } from '../live/polling';
import { useResource } from '../live/resource';
import { hrefOf, navigate, query, setQuery } from '../router';
import type { PageProps } from '../routes';
import { useTitle } from '../Shell';
import { may } from '../session';
import '../styles/tables.css';
import '../styles/webhooks.css';
import { healthOf, type Health } from './webhooks/health';

/** Types of events, as the guide on webhooks describes them. */
const EVENTS: readonly { name: string; meaning: string }[] = [
  { name: 'job.started', meaning: 'a worker claimed the first task' },
  { name: 'job.completed', meaning: 'a job completed' },
  { name: 'job.failed', meaning: 'a job failed' },
  { name: 'job.quarantined', meaning: 'a job was stopped until an operator decides' },
  { name: 'job.cancelled', meaning: 'a job was cancelled' },
  { name: 'video.viewable', meaning: 'the first part of a video plays' },
  { name: 'video.ready', meaning: 'a version of a video is complete' },
  { name: 'video.failed', meaning: 'a version of a video failed' },
];
const STATUSES = ['pending', 'delivered', 'failed'] as const;
const PAGE = 50;
const WORDS: Record<Health['status'], string> = { delivered: 'healthy', failing: 'failing', disabled: 'disabled', unused: 'nothing sent yet' };
const TONES: Record<Health['status'], string> = { delivered: 'completed', failing: 'failed', disabled: 'cancelled', unused: 'pending' };

export default function Webhooks({ params }: PageProps) {
  return params['id'] ? <OneWebhook id={params['id']} /> : <List />;
}

function nameOf(webhook: Webhook): string {
  return webhook.description || webhook.url || (webhook.kind === 'callback' ? `Callbacks of ${webhook.user_id || 'jobs'}` : webhook.kind === 'alert' ? 'Alerts' : webhook.id);
}

function List() {
  const list = useResource(
    () => ({
      load: async (signal) => {
        const webhooks = await api.get('/api/v1/webhooks', { signal });
        const deliveries = await Promise.all(webhooks.map((each) => api.get('/api/v1/webhooks/{webhook_id}/deliveries', { path: { webhook_id: each.id }, query: { limit: 20 }, signal })));
        return webhooks.map((webhook, index) => ({ webhook, recent: deliveries[index]?.items ?? [] }));
      },
      matters: () => false,
    }),
    [],
  );
  usePolling(list, 5000);
  const [isNew, setNew] = useState(false);
  const [shown, setShown] = useState<ShownSecret | null>(null);
  const canWrite = may('jobs:write');
  useShortcuts(canWrite ? [{ keys: 'n', label: 'New webhook', run: () => setNew(true) }] : [], [canWrite]);
  const found = list.value.value;
  if (!found) return list.error.value ? <ErrorState error={list.error.value} retry={() => list.reload()} /> : <Skeleton lines={6} />;
  return (
    <div class="stack">
      <div class="row wrap">
        <span class="muted">Events are signed, retried with growing pauses, and delivered at least once.</span>
        <span class="grow" />
        {canWrite && (
          <button type="button" class="button primary" onClick={() => setNew(true)}>
            <Icon name="plus" /> New webhook
          </button>
        )}
      </div>
      {found.length === 0 ? (
        <EmptyState icon="webhooks" title="No webhooks yet">
          <p>A webhook tells your program of events: a video is ready, a job has failed. It needs an address that answers POST with 2xx.</p>
          {canWrite && <Command text="reel webhooks add https://example.com/hook --event video.ready" />}
        </EmptyState>
      ) : (
        <Panel title={plural(found.length, 'endpoint')} isFlush>
          <Table
            rows={found.map(({ webhook, recent }) => ({ webhook, recent, health: healthOf(webhook, recent) }))}
            keyOf={({ webhook }) => webhook.id}
            attributes={({ webhook }) => ({ 'data-webhook': webhook.id })}
            columns={[
              {
                label: 'Endpoint',
                kind: 'text',
                cell: ({ webhook }) => (
                  <span>
                    <a href={hrefOf(['webhooks', webhook.id])}>
                      <strong>{nameOf(webhook)}</strong>
                    </a>{' '}
                    {webhook.kind !== 'webhook' && <span class="tag">{webhook.kind}</span>}
                    {webhook.description && <div class="muted small mono">{webhook.url}</div>}
                  </span>
                ),
              },
              { label: 'Health', cell: ({ health }) => <Status status={TONES[health.status]} label={WORDS[health.status]} /> },
              { label: 'Events', cell: ({ webhook }) => <EventTags events={webhook.events} /> },
              { label: 'User', cell: ({ webhook }) => webhook.user_id || <span class="muted">all</span> },
              { label: 'Newest deliveries', name: 'Deliveries', cell: ({ recent }) => <Dots deliveries={recent} /> },
              {
                label: 'Last attempt',
                cell: ({ health }) => (
                  <span>
                    <Time at={health.lastAt} absent="none" /> {health.lastStatus !== null && <span class="muted">status {health.lastStatus}</span>}
                  </span>
                ),
              },
            ]}
          />
        </Panel>
      )}
      {isNew && (
        <EditWebhook
          webhook={null}
          onClose={() => setNew(false)}
          onMade={(made) => {
            setShown({ title: 'Secret of the webhook', text: 'Deliveries are signed with it (Standard Webhooks). It is not shown again; you can rotate it.', secret: made });
            void list.reload();
          }}
        />
      )}
      {shown && <SecretDialog shown={shown} onClose={() => setShown(null)} />}
    </div>
  );
}

function EventTags({ events }: { events: readonly string[] }) {
  if (!events.length) return <span class="muted">all events</span>;
  return (
    <span class="tags">
      {events.slice(0, 4).map((each) => (
        <span key={each} class="tag">
          {each}
        </span>
      ))}
      {events.length > 4 && <span class="tag">and {events.length - 4} more</span>}
    </span>
  );
}

/** The newest deliveries as marks, the newest at the right. */
function Dots({ deliveries }: { deliveries: readonly Delivery[] }) {
  if (!deliveries.length) return <span class="muted">none</span>;
  const count = (status: string) => deliveries.filter((each) => each.status === status).length;
  const label = STATUSES.filter(count).map((status) => `${count(status)} ${status}`).join(', ');
  return (
    <span class="dots" role="img" aria-label={label} title={label}>
      {[...deliveries].reverse().map((each) => (
        <span key={each.id} data-status={each.status === 'pending' && each.attempt > 0 ? 'retrying' : each.status} />
      ))}
    </span>
  );
}

function OneWebhook({ id }: { id: string }) {
  const status = STATUSES.find((each) => each === query.value.get('status'));
  const job = /^\d+$/.test(query.value.get('job') ?? '') ? (query.value.get('job') ?? '') : '';
  const [pages, setPages] = useState(1);
  const webhook = useResource(() => ({ load: (signal) => api.get('/api/v1/webhooks/{webhook_id}', { path: { webhook_id: id }, signal }), matters: () => false }), [id]);
  const list = useResource(() => ({ load: (signal) => readDeliveries(id, status, job, pages, signal), matters: () => false }), [id, status, job, pages]);
  usePolling(webhook, 5000);
  usePolling(list, 4000);
  const [dialog, setDialog] = useState<'edit' | 'rotate' | null>(null);
  const [shown, setShown] = useState<ShownSecret | null>(null);
  const found = webhook.value.value;
  useTitle(found ? nameOf(found) : 'Webhook');
  if (!found) return webhook.error.value ? <ErrorState error={webhook.error.value} retry={() => webhook.reload()} /> : <Skeleton lines={6} />;
  const canWrite = may('jobs:write');
  const isOwn = found.kind === 'webhook';
  const toggle = async () => {
    try {
      await api.patch('/api/v1/webhooks/{webhook_id}', { path: { webhook_id: id }, body: { enabled: !found.enabled } });
      toast(found.enabled ? 'The webhook is disabled: events wait' : 'The webhook is enabled: what is pending is sent');
      void webhook.reload();
    } catch (error) {
      toastError(error);
    }
  };
  const remove = () =>
    confirm({
      title: 'Remove this webhook?',
      body: <p>Its deliveries are removed with it, those that are pending are not sent. This cannot be undone.</p>,
      action: 'Remove',
      isDangerous: true,
      run: async () => {
        await api.delete('/api/v1/webhooks/{webhook_id}', { path: { webhook_id: id } });
        toast('The webhook is removed');
        navigate(hrefOf(['webhooks']));
      },
    });
  return (
    <div class="stack">
      <div class="row wrap">
        <a class="button quiet" href={hrefOf(['webhooks'])}>
          <Icon name="left" /> All webhooks
        </a>
        <span class="grow" />
        {canWrite && isOwn && (
          <>
            <button type="button" class="button" onClick={() => setDialog('edit')}>
              <Icon name="edit" /> Edit
            </button>
            <button type="button" class="button" onClick={() => void toggle()}>
              {found.enabled ? 'Disable' : 'Enable'}
            </button>
            <button type="button" class="button" onClick={() => setDialog('rotate')}>
              Rotate secret
            </button>
            <button type="button" class="button danger" onClick={remove}>
              <Icon name="trash" /> Remove
            </button>
          </>
        )}
      </div>
      {found.disabled && (
        <div class="notice error">
          <strong>It was disabled automatically</strong>
          <span>{found.disabled}</span>
          {canWrite && <span class="muted">Repair the endpoint, then enable the webhook: pending deliveries are sent.</span>}
        </div>
      )}
      {!found.disabled && found.failing_since && (
        <div class="notice warn">
          <strong>
            Every attempt has failed since <Time at={found.failing_since} />
          </strong>
          <span class="muted">Attempts go on with growing pauses. The response of the endpoint is shown below.</span>
        </div>
      )}
      <Panel title="Endpoint">
        <dl class="facts">
          <dt>Address</dt>
          <dd class="mono">{found.url || 'as each job names it'}</dd>
          <dt>Events</dt>
          <dd>
            <EventTags events={found.events} />
          </dd>
          <dt>State</dt>
          <dd>
            <Status status={found.enabled ? (found.failing_since ? 'failed' : 'completed') : 'cancelled'} label={found.enabled ? (found.failing_since ? 'failing' : 'enabled') : 'disabled'} />
          </dd>
          <dt>Jobs of</dt>
          <dd>{found.user_id || 'all users'}</dd>
          <dt>Created</dt>
          <dd>
            <Time at={found.created_at} /> <span class="muted">by {found.actor}</span>
          </dd>
          <dt>Id</dt>
          <dd class="row">
            <code>{found.id}</code>
            <CopyButton text={found.id} label="Copy the id" />
          </dd>
        </dl>
      </Panel>
      <div class="row wrap">
        <div class="row" role="group" aria-label="Deliveries by status">
          <button type="button" class="button small" aria-pressed={!status} onClick={() => setQuery({ status: undefined })}>
            All
          </button>
          {STATUSES.map((each) => (
            <button key={each} type="button" class="button small" aria-pressed={status === each} onClick={() => setQuery({ status: each })}>
              {each}
            </button>
          ))}
        </div>
        <label class="search-box">
          <span class="visually-hidden">Only events of a job</span>
          <Icon name="search" />
          <input class="input" type="search" inputMode="numeric" data-search placeholder="Only events of a job, by its id" value={query.value.get('job') ?? ''} onInput={(event) => setQuery({ job: event.currentTarget.value.trim() })} />
        </label>
      </div>
      {!list.value.value ? (
        list.error.value ? (
          <ErrorState error={list.error.value} retry={() => list.reload()} />
        ) : (
          <Skeleton lines={6} />
        )
      ) : list.value.value.items.length === 0 ? (
        <EmptyState icon="webhooks" title={status || job ? 'No delivery matches' : 'No deliveries yet'}>
          {status || job ? (
            <button type="button" class="button" onClick={() => setQuery({ status: undefined, job: undefined })}>
              Show all deliveries
            </button>
          ) : (
            <p>The next event is delivered within seconds, and listed here with the response.</p>
          )}
        </EmptyState>
      ) : (
        <Panel title="Deliveries, newest first" isFlush>
          <ul class="deliveries">
            {list.value.value.items.map((each) => (
              <DeliveryRow key={each.id} delivery={each} canWrite={canWrite} onChanged={() => void list.reload()} />
            ))}
          </ul>
          {list.value.value.isMore && (
            <div class="panel-body">
              <button type="button" class="button" onClick={() => setPages(pages + 1)}>
                Show more
              </button>
            </div>
          )}
        </Panel>
      )}
      {dialog === 'edit' && <EditWebhook webhook={found} onClose={() => setDialog(null)} onMade={() => void webhook.reload()} />}
      {dialog === 'rotate' && (
        <RotateSecret
          id={id}
          onClose={() => setDialog(null)}
          onMade={(secret) => setShown({ title: 'New secret', text: 'Deliveries are signed with it, and with the old one until the overlap is over. It is not shown again.', secret })}
        />
      )}
      {shown && <SecretDialog shown={shown} onClose={() => setShown(null)} />}
    </div>
  );
}

async function readDeliveries(id: string, status: Delivery['status'] | undefined, job: string, pages: number, signal: AbortSignal): Promise<{ items: Delivery[]; isMore: boolean }> {
  const items: Delivery[] = [];
  let after: string | null = null;
  for (let page = 0; page < pages; page++) {
    const asked = { limit: PAGE, after, ...(status ? { status } : {}), ...(job ? { job_id: job as unknown as number } : {}) };
    const found: { items: Delivery[]; after: string | null } = await api.get('/api/v1/webhooks/{webhook_id}/deliveries', { path: { webhook_id: id }, query: asked, signal });
    items.push(...found.items);
    after = found.after;
    if (!after) break;
  }
  return { items, isMore: after !== null };
}

function DeliveryRow({ delivery, canWrite, onChanged }: { delivery: Delivery; canWrite: boolean; onChanged: () => void }) {
  const [isOpen, setOpen] = useState(false);
  const last = delivery.attempts.at(-1);
  const isRetrying = delivery.status === 'pending' && delivery.attempt > 0;
  const redeliver = async () => {
    try {
      await api.post('/api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver', { path: { webhook_id: delivery.webhook_id, delivery_id: String(delivery.id) } });
      toast('It is sent again, under the same id');
      onChanged();
    } catch (error) {
      toastError(error);
    }
  };
  return (
    <li class="delivery" data-delivery={delivery.id}>
      <div class="delivery-head">
        <button type="button" class="button quiet icon small" aria-expanded={isOpen} aria-label={`Attempts of delivery ${delivery.id}`} onClick={() => setOpen(!isOpen)}>
          <Icon name={isOpen ? 'down' : 'right'} />
        </button>
        <span class="delivery-status">
          <Status status={isRetrying ? 'retrying' : delivery.status} />
        </span>
        <strong class="truncate delivery-type">{delivery.type}</strong>
        {delivery.job_id !== null && (
          <a class="mono" href={hrefOf(['jobs', String(delivery.job_id)])}>
            {String(delivery.job_id)}
          </a>
        )}
        <span class={`truncate small grow ${last && last.failure ? 'tone-failed' : 'muted'}`}>
          {last ? (last.failure ?? `status ${last.status} in ${duration(last.seconds)}`) : 'not sent yet'}
          {delivery.attempts.length > 1 && <span class="muted">, {delivery.attempts.length} attempts</span>}
        </span>
        <span class="muted small nowrap">
          {delivery.status === 'pending' && delivery.next_at ? (
            <>
              next <Time at={delivery.next_at} />
            </>
          ) : (
            <Time at={delivery.created_at} />
          )}
        </span>
        {canWrite && (
          <button type="button" class="button small" onClick={() => void redeliver()}>
            <Icon name="retry" /> Redeliver
          </button>
        )}
      </div>
      {isOpen && (
        <div class="delivery-body">
          <p class="small muted">
            <code>webhook-id: {delivery.message}</code>
            <CopyButton text={delivery.message} label="Copy the id" /> to <code>{delivery.url}</code>
          </p>
          {delivery.attempts.length === 0 ? (
            <p class="muted">No attempt has been made.</p>
          ) : (
            <ol>
              {delivery.attempts.map((attempt) => (
                <li key={attempt.number} class="delivery-attempt">
                  <Status status={attempt.failure ? 'failed' : 'completed'} label={`attempt ${attempt.number}`} />
                  <span>{attempt.status === null ? 'no response' : `status ${attempt.status}`}</span>
                  <span class="muted">{duration(attempt.seconds)}</span>
                  <span class="muted">
                    <Time at={attempt.at} />
                  </span>
                  {attempt.failure && <span class="tone-failed">{attempt.failure}</span>}
                  {attempt.response && (
                    <pre class="pre" tabIndex={0} aria-label="Response">
                      {attempt.response}
                    </pre>
                  )}
                </li>
              ))}
            </ol>
          )}
        </div>
      )}
    </li>
  );
}

function EditWebhook({ webhook, onClose, onMade }: { webhook: Webhook | null; onClose: () => void; onMade: (secret: string) => void }) {
  const [url, setUrl] = useState(webhook?.url ?? '');
  const [description, setDescription] = useState(webhook?.description ?? '');
  const [events, setEvents] = useState<ReadonlySet<string>>(new Set(webhook?.events));
  const known = new Set(EVENTS.map((each) => each.name));
  const choices = [...EVENTS, ...[...events].filter((each) => !known.has(each)).map((name) => ({ name, meaning: '' }))];
  const submit = async () => {
    const body = { events: [...events], description: description.trim() };
    if (webhook) {
      // The address is shown without its query, so it is sent only when it was changed.
      await api.patch('/api/v1/webhooks/{webhook_id}', { path: { webhook_id: webhook.id }, body: { ...body, ...(url.trim() !== webhook.url ? { url: url.trim() } : {}) } });
      toast('The webhook is changed');
      onMade('');
    } else onMade((await api.post('/api/v1/webhooks', { body: { ...body, url: url.trim() } })).secret);
    onClose();
  };
  return (
    <FormDialog title={webhook ? 'Edit the webhook' : 'New webhook'} action={webhook ? 'Save' : 'Create the webhook'} onClose={onClose} submit={submit} isReady={url.trim() !== ''}>
      <Field label="Address" hint="https://…, not in a private network unless the deployment allows it.">
        <input class="input mono" name="url" type="url" value={url} placeholder="https://example.com/hook" autoFocus onInput={(event) => setUrl(event.currentTarget.value)} />
      </Field>
      <Field label="Description" hint="A note for people.">
        <input class="input" name="description" value={description} maxLength={255} onInput={(event) => setDescription(event.currentTarget.value)} />
      </Field>
      <Checklist legend={<>Events {events.size === 0 && <span class="muted small">(none chosen: all)</span>}</>} choices={choices} chosen={events} onChange={setEvents} />
    </FormDialog>
  );
}

function RotateSecret({ id, onClose, onMade }: { id: string; onClose: () => void; onMade: (secret: string) => void }) {
  return (
    <RotateDialog
      title="Rotate the secret"
      text="Deliveries carry two signatures during the overlap, so that your program can change at its pace."
      action="Make a new secret"
      label="The old secret signs too"
      words={{ none: 'not at all', for: 'for' }}
      onClose={onClose}
      rotate={async (overlap) => {
        const made = await api.post('/api/v1/webhooks/{webhook_id}/rotate', { path: { webhook_id: id }, body: { overlap } });
        onClose();
        onMade(made.secret);
      }}
    />
  );
}

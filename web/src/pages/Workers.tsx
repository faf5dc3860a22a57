/** The workers: what each runs now, what it can do, whether it answers, and whether it may claim. */

import { useSignal } from '@preact/signals';
import { addressOf, api } from '../api/client';
import type { Worker } from '../api/types';
import { now } from '../clock';
import { confirm } from '../components/Confirm';
import { Command } from '../components/Copy';
import { Dialog } from '../components/Dialog';
import { Icon } from '../components/Icon';
import { Menu } from '../components/Menu';
import { Progress } from '../components/Progress';
import { EmptyState, ErrorState, Skeleton } from '../components/States';
import { Status } from '../components/Status';
import { Elapsed, Time } from '../components/Time';
import { toast } from '../components/Toast';
import { number, plural } from '../format';
import { hrefOf, query, setQuery } from '../router';
import type { PageProps } from '../routes';
import '../styles/workers.css';
import { groupCapabilities, statusOf, tasksOf, type Fleet } from './workers/fleet';
import { useFleet } from './workers/useFleet';

/** Milliseconds without a heartbeat that deserve a warning. */
const LATE = 60_000;

export default function Workers(_: PageProps) {
  const resource = useFleet();
  const isRegistering = useSignal(false);
  const fleet = resource.value.value;
  const wanted = query.value.get('name') ?? '';
  const showsOffline = query.value.get('offline') === 'true';
  if (resource.error.value && !fleet) return <ErrorState error={resource.error.value} retry={() => void resource.reload()} />;
  const all = fleet?.workers.filter((worker) => !wanted || worker.name === wanted) ?? [];
  const offline = all.filter((worker) => worker.status === 'offline');
  const shown = showsOffline || wanted ? all : all.filter((worker) => worker.status !== 'offline');
  const sorted = [...shown].sort((a, b) => Number(a.status === 'offline') - Number(b.status === 'offline') || a.name.localeCompare(b.name, 'en', { numeric: true }) || b.id - a.id);
  const slots = sum(shown, (worker) => (worker.status === 'offline' ? 0 : worker.slots));
  return (
    <div class="stack">
      <div class="row wrap workers-bar">
        {fleet && (
          <span class="muted">
            {plural(shown.length - shown.filter((worker) => worker.status === 'offline').length, 'worker')}, {number(fleet.running.size)} of {plural(slots, 'slot')} in use
          </span>
        )}
        {wanted && (
          <button type="button" class="button small" onClick={() => setQuery({ name: undefined })}>
            Only {wanted} <Icon name="close" />
          </button>
        )}
        <span class="grow" />
        {offline.length > 0 && !wanted && (
          <label class="row small">
            <input type="checkbox" checked={showsOffline} onChange={(event) => setQuery({ offline: event.currentTarget.checked ? 'true' : undefined })} />
            Show {number(offline.length)} offline
          </label>
        )}
        <button type="button" class="button" onClick={() => (isRegistering.value = true)}>
          <Icon name="plus" /> Add a worker
        </button>
      </div>
      {!fleet && (
        <div class="panel panel-body">
          <Skeleton lines={8} />
        </div>
      )}
      {fleet && sorted.length === 0 && (
        <EmptyState icon="workers" title={wanted ? `No worker is called ${wanted}` : 'No worker is running'}>
          <p>Jobs wait until a worker claims their tasks. Start one on this machine:</p>
          <Command text="reel worker" />
        </EmptyState>
      )}
      {fleet && <div class="workers">{sorted.map((worker) => <WorkerPanel key={worker.id} fleet={fleet} worker={worker} onChanged={() => void resource.reload()} />)}</div>}
      {isRegistering.value && <RegisterDialog onClose={() => (isRegistering.value = false)} />}
    </div>
  );
}

function WorkerPanel({ fleet, worker, onChanged }: { fleet: Fleet; worker: Worker; onChanged: () => void }) {
  const tasks = tasksOf(fleet, worker);
  const status = statusOf(fleet, worker);
  const { own, encoders } = groupCapabilities(worker.capabilities);
  const free = Math.max(0, worker.slots - tasks.length - worker.stuck);
  const isOffline = status === 'offline';
  const age = worker.last_heartbeat_at ? now.value - new Date(worker.last_heartbeat_at).getTime() : null;
  return (
    <section class="panel worker" data-worker={worker.name} data-status={status} aria-label={worker.name}>
      <div class="panel-head">
        <h2 class="row">
          <span class="truncate">{worker.name}</span>
          <Status status={status} />
        </h2>
        <span class="muted small">
          {isOffline ? 'last seen' : 'heartbeat'}{' '}
          <span class={!isOffline && age !== null && age > LATE ? 'tone-failed' : ''}>
            <Time at={worker.last_heartbeat_at} absent="never" />
          </span>
        </span>
        <WorkerMenu worker={worker} onChanged={onChanged} />
      </div>
      <div class="panel-body stack">
        {!isOffline && (
          <ul class="slots" aria-label={`Slots of ${worker.name}`}>
            {tasks.map((task) => (
              <li key={task.id} class="slot" data-busy="true">
                <a class="truncate" href={hrefOf(['jobs', task.job], { task: `${task.stage}/${task.part}` })} title={task.id}>
                  {task.stage} {task.part}
                </a>
                <span class="muted small slot-time">{task.since ? <Elapsed from={task.since} /> : ''}</span>
                <Progress value={task.percent} label={`Progress of ${task.id}`} />
              </li>
            ))}
            {Array.from({ length: worker.stuck }, (_, index) => (
              <li key={`stuck${index}`} class="slot" title="A handler that did not stop when asked holds this slot until it ends.">
                <span class="tone-retrying">stuck</span>
              </li>
            ))}
            {Array.from({ length: Math.min(free, 64) }, (_, index) => (
              <li key={`free${index}`} class="slot">
                <span class="muted">{status === 'draining' || status === 'disabled' ? 'claims nothing' : 'free'}</span>
              </li>
            ))}
          </ul>
        )}
        <dl class="facts small">
          <dt>Attempts</dt>
          <dd>
            {number(worker.done)} done, <span class={worker.failed ? 'tone-failed' : ''}>{number(worker.failed)} failed</span>
          </dd>
          <dt>Host</dt>
          <dd>
            {worker.hostname}, {worker.kind}, version {worker.software}, since <Time at={worker.registered_at} />
          </dd>
          <dt>Pipelines</dt>
          <dd>{[...worker.pipelines].sort().join(', ') || 'all'}</dd>
          <dt>Can</dt>
          <dd>
            {own.join(', ') || 'nothing special'}
            {encoders.length > 0 && (
              <details class="worker-encoders">
                <summary>{plural(encoders.length, 'encoder')}</summary>
                <code>{encoders.join(', ')}</code>
              </details>
            )}
          </dd>
        </dl>
      </div>
    </section>
  );
}

function WorkerMenu({ worker, onChanged }: { worker: Worker; onChanged: () => void }) {
  const path = { name: worker.name };
  const isHeld = worker.status === 'draining' || worker.status === 'disabled';
  const enable = () =>
    confirm({
      title: `Let ${worker.name} claim tasks again?`,
      action: 'Enable',
      reason: 'optional',
      run: async (reason) => {
        await api.post('/api/v1/workers/{name}/enable', { path, body: { reason } });
        toast(`${worker.name} may claim tasks.`);
        onChanged();
      },
    });
  const drain = () =>
    confirm({
      title: `Drain ${worker.name}?`,
      body: 'It finishes the tasks that it runs and claims no new ones, until it is enabled.',
      action: 'Drain',
      reason: 'optional',
      run: async (reason) => {
        await api.post('/api/v1/workers/{name}/drain', { path, body: { reason } });
        toast(`${worker.name} finishes its tasks.`);
        onChanged();
      },
    });
  const disable = () =>
    confirm({
      title: `Disable ${worker.name}?`,
      body: 'Its tasks go to other workers at once, without counting an attempt. It gets no more, also after a restart, until it is enabled.',
      action: 'Disable',
      isDangerous: true,
      reason: 'required',
      run: async (reason) => {
        const { released } = await api.post('/api/v1/workers/{name}/disable', { path, body: { reason } });
        toast(`${worker.name} is disabled; ${plural(released, 'task')} released.`);
        onChanged();
      },
    });
  const revoke = () =>
    confirm({
      title: `Revoke the keys of ${worker.name}?`,
      body: 'The server refuses it within five seconds, and its tasks go to other workers. It needs a new key to return.',
      action: 'Revoke',
      isDangerous: true,
      typed: worker.name,
      run: async () => {
        const { revoked, released } = await api.post('/api/v1/workers/{name}/revoke', { path });
        toast(`${plural(revoked, 'key')} revoked; ${plural(released, 'task')} released.`);
        onChanged();
      },
    });
  return (
    <div class="row">
      {isHeld ? (
        <button type="button" class="button small" onClick={enable}>
          <Icon name="play" /> Enable
        </button>
      ) : (
        worker.status !== 'offline' && (
          <button type="button" class="button small" onClick={drain}>
            <Icon name="drain" /> Drain
          </button>
        )
      )}
      <Menu name={`More actions on ${worker.name}`} label={<Icon name="more" />} buttonClass="button small icon">
        {!isHeld && worker.status === 'offline' && (
          <button type="button" class="menu-item" onClick={enable}>
            Enable …
          </button>
        )}
        {worker.status !== 'disabled' && (
          <button type="button" class="menu-item danger" onClick={disable}>
            Disable …
          </button>
        )}
        {worker.kind === 'remote' && (
          <button type="button" class="menu-item danger" onClick={revoke}>
            Revoke its keys …
          </button>
        )}
        <a class="menu-item" href={hrefOf(['workers'], { name: worker.name })}>
          Show only this one
        </a>
      </Menu>
    </div>
  );
}

function RegisterDialog({ onClose }: { onClose: () => void }) {
  const name = useSignal('encoder-1');
  const server = addressOf('/').href.replace(/\/$/, '');
  const word = /^[\w.-]+$/.test(name.value) ? name.value : `'${name.value.replaceAll("'", '')}'`;
  const isPlain = server.startsWith('http://') && !/^http:\/\/(localhost|127\.|\[::1\])/.test(server);
  return (
    <Dialog title="Add a worker" onClose={onClose} isWide>
      <h3>On a machine that reaches the database</h3>
      <Command text="reel worker --database postgresql://user@host/name --app your_module" />
      <h3>On any other machine, over HTTP</h3>
      <label class="field">
        <span>Name of the worker</span>
        <input class="input" value={name.value} maxLength={255} onInput={(event) => (name.value = event.currentTarget.value)} />
      </label>
      <p class="muted">1. Where the server runs, create its key:</p>
      <Command text={`reel workers register ${word} --key-file ${word}.key`} />
      <p class="muted">2. Copy the file to the machine, then start the worker there:</p>
      <Command text={`reel worker --server ${server} --key-file ${word}.key${isPlain ? ' --insecure' : ''}`} />
      {isPlain && <p class="muted small">This server is reached without TLS, so the key would be sent in plain text. Put a proxy with TLS in front of it.</p>}
    </Dialog>
  );
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}

/** API keys: what each may do, when it was last used, and the buttons to make, rotate and revoke them. */

import { useState } from 'preact/hooks';
import { api } from '../api/client';
import type { ApiKey, Scope } from '../api/types';
import { now } from '../clock';
import { Checklist } from '../components/Checklist';
import { confirm } from '../components/Confirm';
import { Field, FormDialog } from '../components/Field';
import { Icon } from '../components/Icon';
import { Panel } from '../components/Panel';
import { RotateDialog } from '../components/Rotate';
import { SecretDialog, type ShownSecret } from '../components/Secret';
import { EmptyState, ErrorState, Skeleton } from '../components/States';
import { Status } from '../components/Status';
import { Table } from '../components/Table';
import { Time } from '../components/Time';
import { toast } from '../components/Toast';
import { plural } from '../format';
import { useShortcuts } from '../keyboard';
import { usePolling } from '../live/polling';
import { useResource } from '../live/resource';
import { hrefOf, query, setQuery } from '../router';
import type { PageProps } from '../routes';
import '../styles/tables.css';

const SCOPES: readonly { name: Scope; meaning: string }[] = [
  { name: 'jobs:read', meaning: 'Read and play: the jobs and videos of its user.' },
  { name: 'jobs:write', meaning: 'Submit, upload, cancel, retry and delete: those of its user.' },
  { name: 'worker', meaning: 'Run a remote worker: its name is the name of the key.' },
  { name: 'metrics', meaning: 'Read /metrics.' },
  { name: 'admin', meaning: 'Everything, of all users: workers, keys, pauses and settings, too.' },
];
const LIFETIMES = [
  { label: 'never', seconds: null },
  { label: 'after 1 day', seconds: 86_400 },
  { label: 'after 30 days', seconds: 2_592_000 },
  { label: 'after 1 year', seconds: 31_536_000 },
] as const;

type State = 'in force' | 'expired' | 'revoked';

/** Return whether a key is in force at a time, in milliseconds since 1970. */
export function stateOf(key: Pick<ApiKey, 'revoked_at' | 'expires_at'>, time: number): State {
  if (key.revoked_at !== null && Date.parse(key.revoked_at) <= time) return 'revoked';
  if (key.expires_at !== null && Date.parse(key.expires_at) <= time) return 'expired';
  return 'in force';
}

const TONES: Record<State, string> = { 'in force': 'completed', expired: 'cancelled', revoked: 'failed' };

export default function Keys(_: PageProps) {
  const list = useResource(() => ({ load: (signal) => api.get('/api/v1/keys', { signal }), matters: () => false }), []);
  usePolling(list, 15_000);
  const [isNew, setNew] = useState(false);
  const [shown, setShown] = useState<ShownSecret | null>(null);
  const [rotated, setRotated] = useState<ApiKey | null>(null);
  useShortcuts([{ keys: 'n', label: 'New key', run: () => setNew(true) }], []);
  const keys = list.value.value;
  if (!keys) return list.error.value ? <ErrorState error={list.error.value} retry={() => list.reload()} /> : <Skeleton lines={8} />;
  const showsAll = query.value.get('all') === '1';
  const text = (query.value.get('q') ?? '').toLowerCase();
  const plain = keys.filter((key) => key.kind === 'key');
  const visible = plain.filter((key) => (showsAll || stateOf(key, now.value) === 'in force') && `${key.name} ${key.user_id} ${key.id} ${key.scopes.join(' ')}`.toLowerCase().includes(text));
  const others = keys.filter((key) => key.kind !== 'key' && stateOf(key, now.value) === 'in force').length;
  const done = (made: { key: string; name: string }, title: string) => {
    setShown({ title, text: `The key of ${made.name}. It is stored nowhere and is not shown again.`, secret: made.key });
    void list.reload();
  };
  const revoke = (key: ApiKey) =>
    confirm({
      title: `Revoke the key of ${key.name}?`,
      body: <p>Every server refuses it within five seconds, and its sessions end. This cannot be undone: make a new key instead.</p>,
      action: 'Revoke',
      isDangerous: true,
      run: async () => {
        await api.post('/api/v1/keys/{key_id}/revoke', { path: { key_id: key.id } });
        toast(`The key of ${key.name} is revoked`);
        void list.reload();
      },
    });
  return (
    <div class="stack">
      <div class="row wrap">
        <label class="search-box">
          <span class="visually-hidden">Search keys</span>
          <Icon name="search" />
          <input class="input" type="search" data-search placeholder="Search by name, user or scope" value={query.value.get('q') ?? ''} onInput={(event) => setQuery({ q: event.currentTarget.value })} />
        </label>
        <label class="row">
          <input type="checkbox" checked={showsAll} onChange={() => setQuery({ all: showsAll ? undefined : '1' })} /> expired and revoked, too
        </label>
        <span class="grow" />
        <button type="button" class="button primary" onClick={() => setNew(true)}>
          <Icon name="plus" /> New key
        </button>
      </div>
      {visible.length === 0 ? (
        <EmptyState icon="keys" title={plain.length ? 'No key matches' : 'No keys'}>
          {plain.length ? (
            <a class="button" href={hrefOf(['keys'], { all: '1' })}>
              Show all {plural(plain.length, 'key')}
            </a>
          ) : (
            <p>A program signs in with a key. Make one for each program and person.</p>
          )}
        </EmptyState>
      ) : (
        <Panel title={plural(visible.length, 'key')} isFlush>
          <Table
            rows={visible}
            keyOf={(key) => key.id}
            attributes={(key) => ({ 'data-key': key.id })}
            columns={[
              {
                label: 'Name',
                cell: (key) => (
                  <span>
                    <strong>{key.name}</strong>
                    <br />
                    <span class="muted small mono">reel_{key.id}_…</span>
                  </span>
                ),
              },
              { label: 'State', cell: (key) => <Status status={TONES[stateOf(key, now.value)]} label={stateOf(key, now.value)} /> },
              { label: 'User', cell: (key) => key.user_id || <span class="muted">–</span> },
              {
                label: 'Scopes',
                cell: (key) => (
                  <span class="tags">
                    {key.scopes.map((scope) => (
                      <span key={scope} class="tag" title={SCOPES.find((each) => each.name === scope)?.meaning}>
                        {scope}
                      </span>
                    ))}
                  </span>
                ),
              },
              { label: 'Last used', cell: (key) => <Time at={key.used_at} absent="never" /> },
              { label: 'Expires', cell: (key) => <Time at={key.expires_at} absent="never" /> },
              { label: 'Created', title: (key) => `by ${key.actor}`, cell: (key) => <Time at={key.created_at} /> },
              {
                label: 'Actions',
                kind: 'actions',
                cell: (key) =>
                  stateOf(key, now.value) === 'in force' && (
                    <>
                      <button type="button" class="button small" onClick={() => setRotated(key)}>
                        Rotate
                      </button>
                      <button type="button" class="button small danger" onClick={() => revoke(key)}>
                        Revoke
                      </button>
                    </>
                  ),
              },
            ]}
          />
        </Panel>
      )}
      <Panel title="What scopes permit">
        <dl class="facts">
          {SCOPES.map(({ name, meaning }) => (
            <>
              <dt class="mono">{name}</dt>
              <dd>{meaning}</dd>
            </>
          ))}
        </dl>
        {others > 0 && <p class="muted small below">{plural(others, 'session')} of browsers and internal keys are in force, too. They end with the key that they came from.</p>}
      </Panel>
      {isNew && <NewKey onClose={() => setNew(false)} onMade={(made) => done(made, 'New key')} />}
      {rotated && <RotateKey apiKey={rotated} onClose={() => setRotated(null)} onMade={(made) => done(made, 'Rotated key')} />}
      {shown && <SecretDialog shown={shown} onClose={() => setShown(null)} />}
    </div>
  );
}

interface Made {
  key: string;
  name: string;
}

function NewKey({ onClose, onMade }: { onClose: () => void; onMade: (made: Made) => void }) {
  const [name, setName] = useState('');
  const [user, setUser] = useState('');
  const [scopes, setScopes] = useState<ReadonlySet<Scope>>(new Set(['jobs:read', 'jobs:write']));
  const [lifetime, setLifetime] = useState<number | null>(null);
  const needsUser = !scopes.has('admin') && (scopes.has('jobs:read') || scopes.has('jobs:write'));
  const submit = async () => {
    const made = await api.post('/api/v1/keys', { body: { name: name.trim(), user_id: user.trim(), scopes: [...scopes], lifetime } });
    onClose();
    onMade(made);
  };
  return (
    <FormDialog title="New key" action="Create the key" onClose={onClose} submit={submit} isReady={name.trim() !== '' && scopes.size > 0 && (!needsUser || user.trim() !== '')}>
      <Field label="Name" hint="Who or what uses it. For a remote worker: the name of the worker.">
        <input class="input" name="name" value={name} autoFocus onInput={(event) => setName(event.currentTarget.value)} />
      </Field>
      <Field label="User" hint={needsUser ? 'Required: whose jobs and videos it sees.' : "Whose jobs and videos it sees. An admin key sees everybody's."}>
        <input class="input" name="user" value={user} onInput={(event) => setUser(event.currentTarget.value)} />
      </Field>
      <Checklist legend="Scopes" choices={SCOPES} chosen={scopes} onChange={setScopes} />
      <Field label="Expires">
        <select class="select" value={String(lifetime)} onChange={(event) => setLifetime(event.currentTarget.value === 'null' ? null : Number(event.currentTarget.value))}>
          {LIFETIMES.map((each) => (
            <option key={each.label} value={String(each.seconds)}>
              {each.label}
            </option>
          ))}
        </select>
      </Field>
    </FormDialog>
  );
}

function RotateKey({ apiKey, onClose, onMade }: { apiKey: ApiKey; onClose: () => void; onMade: (made: Made) => void }) {
  return (
    <RotateDialog
      title={`Rotate the key of ${apiKey.name}`}
      text="The new key has the same name, user and scopes. Both work until the old one ends, so that programs can be changed one by one."
      action="Make a new key"
      label="The old key ends"
      words={{ none: 'at once', for: 'in' }}
      onClose={onClose}
      rotate={async (overlap) => {
        const made = await api.post('/api/v1/keys/{key_id}/rotate', { path: { key_id: apiKey.id }, body: { overlap } });
        onClose();
        onMade(made);
      }}
    />
  );
}

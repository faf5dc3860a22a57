/** What the deployment runs with: its health, its settings, and the choices of this browser. */

import { ROOT, api } from '../api/client';
import { CopyButton } from '../components/Copy';
import { Icon } from '../components/Icon';
import { Panel } from '../components/Panel';
import { EmptyState, ErrorState, Skeleton } from '../components/States';
import { Status } from '../components/Status';
import { Time } from '../components/Time';
import { toastError } from '../components/Toast';
import { bytes, duration, number, percent, plural } from '../format';
import { shortcuts } from '../keyboard';
import { usePolling } from '../live/polling';
import { useResource } from '../live/resource';
import { hrefOf, query, setQuery } from '../router';
import type { PageProps } from '../routes';
import { session, signOut } from '../session';
import { setTheme, theme, type Theme } from '../theme';
import '../styles/tables.css';
import { GROUPS, groupOf, shownValue } from './settings/groups';

const THEMES: readonly { theme: Theme; label: string }[] = [
  { theme: 'system', label: 'As the system' },
  { theme: 'light', label: 'Light' },
  { theme: 'dark', label: 'Dark' },
];

export default function Settings(_: PageProps) {
  const health = useResource(() => ({ load: (signal) => api.get('/health', { signal }), matters: () => false }), []);
  usePolling(health, 5000);
  const settings = useResource(() => ({ load: (signal) => api.get('/api/v1/settings', { signal }), matters: () => false }), []);
  return (
    <div class="stack">
      <div class="split">
        <Panel title="Health" actions={health.value.value && <Status status={health.value.value.status === 'ok' ? 'completed' : 'failed'} label={health.value.value.status} />}>
          {!health.value.value ? health.error.value ? <ErrorState error={health.error.value} retry={() => health.reload()} /> : <Skeleton lines={6} /> : <Health health={health.value.value} />}
        </Panel>
        <Panel title="This browser">
          <dl class="facts">
            <dt>Signed in as</dt>
            <dd>
              {session.value?.name} {session.value?.user_id && <span class="muted">user {session.value.user_id}</span>}
            </dd>
            <dt>Scopes</dt>
            <dd>
              <span class="tags">
                {session.value?.scopes.map((each) => (
                  <span key={each} class="tag">
                    {each}
                  </span>
                ))}
              </span>
            </dd>
            <dt>Theme</dt>
            <dd>
              <div class="row wrap" role="group" aria-label="Theme">
              {THEMES.map((each) => (
                <button key={each.theme} type="button" class="button small" aria-pressed={theme.value === each.theme} onClick={() => setTheme(each.theme)}>
                  {each.label}
                </button>
              ))}
              </div>
            </dd>
            <dt>Time zone</dt>
            <dd>{Intl.DateTimeFormat().resolvedOptions().timeZone}</dd>
            <dt>Server</dt>
            <dd>
              <span class="mono">{ROOT.href}</span>, Reelstate {session.value?.version}
            </dd>
          </dl>
          <div class="row wrap below">
            <button type="button" class="button" onClick={() => signOut().catch(toastError)}>
              Sign out
            </button>
            <a class="button" href={new URL('docs', ROOT).href} target="_blank" rel="noopener">
              <Icon name="external" /> API reference
            </a>
          </div>
        </Panel>
      </div>
      {!settings.value.value ? (
        settings.error.value ? (
          <ErrorState error={settings.error.value} retry={() => settings.reload()} />
        ) : (
          <Skeleton lines={10} />
        )
      ) : (
        <SettingList settings={settings.value.value} />
      )}
      <Panel title="Shortcuts">
        <dl class="facts keys">
          {shortcuts.value.map((each) => (
            <>
              <dt>
                {each.keys.split(' ').map((key) => (
                  <>
                    <kbd>{key}</kbd>{' '}
                  </>
                ))}
              </dt>
              <dd>{each.label}</dd>
            </>
          ))}
        </dl>
      </Panel>
    </div>
  );
}

type HealthDocument = Awaited<ReturnType<typeof readHealth>>;
const readHealth = () => api.get('/health');

function Health({ health }: { health: HealthDocument }) {
  const deployment = health.deployment;
  return (
    <dl class="facts">
      {Object.entries(health.checks).map(([name, outcome]) => (
        <>
          <dt>{name}</dt>
          <dd>
            <Status status={outcome === 'ok' ? 'completed' : 'failed'} label={outcome} />
          </dd>
        </>
      ))}
      {deployment && (
        <>
          <dt>Keeper</dt>
          <dd>
            {deployment.keeper ? <span class="mono">{deployment.keeper}</span> : <Status status="failed" label="none: nothing is scheduled or reclaimed" />}
            {deployment.keeper_seen_at && (
              <span class="muted">
                , seen <Time at={deployment.keeper_seen_at} />
              </span>
            )}
          </dd>
          <dt>Workers</dt>
          <dd>
            <a href={hrefOf(['workers'])}>
              {Object.entries(deployment.workers)
                .filter(([, count]) => count)
                .map(([state, count]) => `${number(count)} ${state}`)
                .join(', ') || 'none'}
            </a>
          </dd>
          <dt>Work</dt>
          <dd>
            {plural(deployment.pending_jobs, 'job')} pending, {number(deployment.processing_jobs)} running; {plural(deployment.ready_tasks, 'task')} ready, {number(deployment.running_tasks)} running
          </dd>
          <dt>Dispatch</dt>
          <dd>
            {deployment.dispatch.kind}
            {deployment.dispatch.redis && (
              <span class="muted">
                , Redis {deployment.dispatch.redis}
                {deployment.dispatch.redis_seconds !== null && ` for ${duration(deployment.dispatch.redis_seconds)}`}
              </span>
            )}
          </dd>
          <dt>Storage</dt>
          <dd>
            {deployment.storage ? (
              <>
                {bytes(deployment.storage.free)} free of {bytes(deployment.storage.total)} <span class="muted">({percent((deployment.storage.free / Math.max(1, deployment.storage.total)) * 100)})</span>
              </>
            ) : (
              'a bucket'
            )}
          </dd>
        </>
      )}
    </dl>
  );
}

type SettingDocument = Awaited<ReturnType<typeof readSettings>>[number];
const readSettings = () => api.get('/api/v1/settings');

function SettingList({ settings }: { settings: readonly SettingDocument[] }) {
  const text = (query.value.get('q') ?? '').toLowerCase();
  const isChanged = query.value.get('changed') === '1';
  const found = settings.filter((each) => (!isChanged || each.source !== 'default') && `${each.variable} ${each.meaning} ${each.value}`.toLowerCase().includes(text));
  return (
    <Panel
      title={`Settings of this server (${number(found.length)})`}
      isFlush
      actions={
        <>
          <label class="row">
            <input type="checkbox" checked={isChanged} onChange={() => setQuery({ changed: isChanged ? undefined : '1' })} /> changed
          </label>
          <label class="search-box">
            <span class="visually-hidden">Search settings</span>
            <Icon name="search" />
            <input class="input" type="search" data-search placeholder="Search settings" value={query.value.get('q') ?? ''} onInput={(event) => setQuery({ q: event.currentTarget.value })} />
          </label>
        </>
      }
    >
      {found.length === 0 ? (
        <EmptyState icon="filter" title="No setting matches" />
      ) : (
        GROUPS.map((group) => {
          const members = found.filter((each) => groupOf(each.name) === group);
          return (
            members.length > 0 && (
              <section key={group} class="settings">
                <h3>{group}</h3>
                <dl>
                  {members.map((each) => (
                    <div key={each.name} class="setting" data-setting={each.name}>
                      <dt>
                        <code>{each.variable}</code>
                        <CopyButton text={each.variable} label={`Copy ${each.variable}`} />
                      </dt>
                      <dd>
                        <span class={each.source === 'default' ? '' : 'setting-changed'}>{shownValue(each)}</span>
                        {each.source !== 'default' && <span class="tag">{each.source}</span>}
                      </dd>
                      <dd class="muted small">{each.meaning}</dd>
                    </div>
                  ))}
                </dl>
              </section>
            )
          );
        })
      )}
    </Panel>
  );
}

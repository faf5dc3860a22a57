/** The frame of every page: navigation, bar, banners. */

import { computed, effect, signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect, useErrorBoundary, useMemo, useState } from 'preact/hooks';
import { ApiError } from './api/client';
import { now } from './clock';
import { ConfirmDialog } from './components/Confirm';
import { Dialog } from './components/Dialog';
import { Icon } from './components/Icon';
import { Menu } from './components/Menu';
import { EmptyState, ErrorState, Skeleton } from './components/States';
import { Toasts, toastError } from './components/Toast';
import { clockTime, duration } from './format';
import { addShortcuts, shortcuts } from './keyboard';
import { connection, connectionSince, reconnect } from './live/feed';
import { BASE, hrefOf, match, navigate, place } from './router';
import { ROUTES, type PageProps, type Route } from './routes';
import { may, session, signOut } from './session';
import { setTheme, theme, toggleTheme, type Theme } from './theme';

const isHelpOpen = signal(false);
const isNavOpen = signal(false);
/** The title of the page, when it has a better one than its route. */
const ownTitle = signal<string | null>(null);

const found = computed<{ route: Route; params: Record<string, string> } | null>(() => {
  for (const route of ROUTES) {
    const params = match(route.path, place.value.path);
    if (params) return { route, params };
  }
  return null;
});

/** Name the page after what it shows. */
export function useTitle(title: string | null): void {
  useEffect(() => {
    ownTitle.value = title;
    return () => {
      ownTitle.value = null;
    };
  }, [title]);
}

export function startShell(): void {
  // Its code is fetched while the session is asked for; a failure is shown when the page is.
  found.peek()?.route.load().catch(() => undefined);
  addShortcuts([
    ...ROUTES.flatMap((route) =>
      route.nav?.key
        ? [{ keys: `g ${route.nav.key}`, label: `Go to ${route.title}`, run: () => navigate(hrefOf(route.path ? [route.path] : [])) }]
        : [],
    ),
    { keys: '/', label: 'Search', run: focusSearch },
    { keys: 't', label: 'Switch between dark and light', run: toggleTheme },
    {
      keys: '?',
      label: 'Show these shortcuts',
      run: () => {
        isHelpOpen.value = true;
      },
    },
  ]);
  effect(() => {
    const title = ownTitle.value ?? found.value?.route.title ?? 'Not found';
    document.title = `${title} · Reelstate`;
  });
}

function focusSearch(): void {
  const field = document.querySelector<HTMLInputElement>('[data-search]');
  if (field) {
    field.focus();
    field.select();
  } else navigate(hrefOf(['jobs'], { focus: 'search' }));
}

export function Shell() {
  return (
    <div class="shell">
      <a class="skip-link" href="#page" onClick={skipToPage}>
        Skip to the page
      </a>
      <Navigation />
      <div class="main">
        <Bar />
        <ConnectionBanner />
        <main class="page" id="page" tabIndex={-1}>
          <CurrentPage />
        </main>
      </div>
      <Toasts />
      <ConfirmDialog />
      {isHelpOpen.value && <Help />}
    </div>
  );
}

function skipToPage(event: Event): void {
  event.preventDefault();
  document.getElementById('page')?.focus();
}

function Navigation() {
  const current = found.value?.route.path.split('/')[0];
  const shown = ROUTES.filter((route) => route.nav && (!route.scope || may(route.scope)));
  const groups = [...new Set(shown.map((route) => route.nav?.group))];
  useEffect(() => {
    isNavOpen.value = false;
  }, [place.value]);
  return (
    <>
      {isNavOpen.value && <div class="nav-scrim" onClick={() => (isNavOpen.value = false)} />}
      <nav class="nav" data-open={isNavOpen.value} aria-label="Pages">
        <a class="brand" href={BASE}>
          <img src={`${BASE}icon.svg`} alt="" width="20" height="20" />
          Reelstate
        </a>
        {groups.map((group) => (
          <div key={group}>
            <div class="nav-title">{group}</div>
            {shown
              .filter((route) => route.nav?.group === group)
              .map((route) => (
                <a key={route.path} class="nav-link" href={hrefOf(route.path ? [route.path] : [])} aria-current={route.path === current ? 'page' : undefined}>
                  {route.nav && <Icon name={route.nav.icon} />}
                  {route.title}
                </a>
              ))}
          </div>
        ))}
        <div class="nav-foot muted small">{session.value?.version && `Reelstate ${session.value.version}`}</div>
      </nav>
    </>
  );
}

const CONNECTIONS = {
  connecting: 'Connecting',
  live: 'Live',
  behind: 'Catching up',
  stale: 'Database unreachable',
  lost: 'Connection lost',
  ended: 'Signed out',
} as const;

function Bar() {
  const route = found.value?.route;
  return (
    <header class="bar">
      <button type="button" class="button quiet icon menu-button" aria-label="Pages" aria-expanded={isNavOpen.value} onClick={() => (isNavOpen.value = !isNavOpen.value)}>
        <Icon name="menu" />
      </button>
      <h1 class="truncate">{ownTitle.value ?? route?.title ?? 'Not found'}</h1>
      <span class="live" data-connection={connection.value} role="status" title={CONNECTIONS[connection.value]}>
        <span class="live-text">{CONNECTIONS[connection.value]}</span>
        <span class="visually-hidden">{CONNECTIONS[connection.value]}</span>
      </span>
      <Menu name="Theme" label={<Icon name="sun" />} buttonClass="button quiet icon">
        {(['system', 'light', 'dark'] as const).map((each) => (
          <button key={each} type="button" class="menu-item" aria-pressed={theme.value === each} onClick={() => setTheme(each)}>
            <span class="grow">{THEMES[each]}</span>
            {theme.value === each && <Icon name="check" />}
          </button>
        ))}
      </Menu>
      <button type="button" class="button quiet icon" aria-label="Shortcuts" title="Shortcuts (?)" onClick={() => (isHelpOpen.value = true)}>
        <Icon name="help" />
      </button>
      <Menu name="Account" label={<Icon name="user" />} buttonClass="button quiet icon">
        <div class="menu-item" tabIndex={-1}>
          <span class="grow">
            <strong>{session.value?.name}</strong>
            <br />
            <span class="muted small">
              {session.value?.user_id ? `user ${session.value.user_id}, ` : ''}
              {session.value?.scopes.join(', ')}
            </span>
          </span>
        </div>
        <button type="button" class="menu-item" onClick={() => signOut().catch(toastError)}>
          Sign out
        </button>
      </Menu>
    </header>
  );
}

const THEMES: Record<Theme, string> = { system: 'As the system', light: 'Light', dark: 'Dark' };
/** Milliseconds of a lost connection that nobody needs to hear of. */
const GRACE = 2000;

function ConnectionBanner() {
  const state = connection.value;
  if ((state !== 'lost' && state !== 'stale') || now.value - connectionSince.value < GRACE) return null;
  const age = duration((now.value - connectionSince.value) / 1000);
  return (
    <div class="banner" role="alert">
      <strong>{state === 'lost' ? 'The connection is lost.' : 'The server cannot reach its database.'}</strong>
      <span>
        You see the state of {clockTime(connectionSince.value)}, {age} ago. What happens meanwhile is shown as soon as{' '}
        {state === 'lost' ? 'the server answers' : 'the database answers'}.
      </span>
      {state === 'lost' && (
        <button type="button" class="button small" onClick={reconnect}>
          Connect now
        </button>
      )}
    </div>
  );
}

function CurrentPage() {
  const at = found.value;
  if (!at) {
    return (
      <EmptyState icon="search" title="There is no such page">
        <p>The address may be mistyped.</p>
        <a class="button" href={BASE}>
          Go to the overview
        </a>
      </EmptyState>
    );
  }
  if (at.route.scope && !may(at.route.scope)) {
    return (
      <EmptyState icon="lock" title="Your key does not permit this page">
        <p>It needs the scope {at.route.scope}. Sign in with another key, or ask an admin for one.</p>
      </EmptyState>
    );
  }
  return <LoadedPage key={`${at.route.path}|${JSON.stringify(at.params)}`} route={at.route} params={at.params} />;
}

const pages = new Map<Route['load'], ComponentType<PageProps>>();

function LoadedPage({ route, params }: { route: Route; params: Record<string, string> }) {
  const [, setLoaded] = useState(0);
  const [failed, setFailed] = useState<ApiError | null>(null);
  const [broken, resetBroken] = useErrorBoundary((error) => console.error(error));
  const Page = pages.get(route.load);
  useEffect(() => {
    if (Page) return;
    route.load().then(
      (module) => {
        pages.set(route.load, module.default);
        setLoaded((count) => count + 1);
      },
      () => setFailed(new ApiError(0, 'the page could not be loaded', 'the server may have been updated: load the dashboard again')),
    );
  }, [route]);
  if (failed) return <ErrorState error={failed} retry={() => location.reload()} />;
  if (broken) return <ErrorState error={new ApiError(0, 'the page has failed', String(broken))} retry={resetBroken} />;
  return Page ? <Page params={params} /> : <Skeleton lines={6} />;
}

function Help() {
  const list = useMemo(() => [...shortcuts.value].sort((a, b) => Number(a.keys.includes(' ')) - Number(b.keys.includes(' '))), [shortcuts.value]);
  return (
    <Dialog title="Shortcuts" onClose={() => (isHelpOpen.value = false)}>
      <dl class="facts">
        {list.map((shortcut) => (
          <>
            <dt>
              {shortcut.keys.split(' ').map((key) => (
                <>
                  <kbd>{key}</kbd>{' '}
                </>
              ))}
            </dt>
            <dd>{shortcut.label}</dd>
          </>
        ))}
      </dl>
    </Dialog>
  );
}

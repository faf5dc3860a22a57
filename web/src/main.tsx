/** Starts the dashboard. */

import { render } from 'preact';
import './styles/tokens.css';
import './styles/base.css';
import './styles/layout.css';
import './styles/components.css';
import './styles/signin.css';
import { startClock } from './clock';
import { startKeyboard } from './keyboard';
import { startFeed } from './live/feed';
import { startRouter } from './router';
import { loadSession, session, sessionError } from './session';
import { Shell, startShell } from './Shell';
import { SignIn, Unreachable } from './SignIn';

/** Milliseconds between attempts to reach a server that did not answer at the start. */
const RETRY = 3000;

function App() {
  if (session.value) return <Shell />;
  if (session.value === null) return <SignIn />;
  if (sessionError.value) return <Unreachable />;
  return (
    <div class="shell" aria-busy="true">
      <div class="nav" />
      <div class="main">
        <div class="bar" />
      </div>
    </div>
  );
}

async function start(): Promise<void> {
  startRouter();
  startClock();
  startKeyboard();
  startShell();
  startFeed();
  const place = document.getElementById('app');
  if (place) render(<App />, place);
  await loadSession();
  setInterval(() => {
    if (session.value === undefined) void loadSession();
  }, RETRY);
}

void start();

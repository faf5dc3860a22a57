/** The page of a visitor who is not signed in. */

import { useState } from 'preact/hooks';
import { ApiError } from './api/client';
import { Command } from './components/Copy';
import { BASE } from './router';
import { loadSession, sessionError, signedOutReason, signIn } from './session';

export function SignIn() {
  const [key, setKey] = useState('');
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await signIn(key.trim());
    } catch (refused) {
      setError(refused instanceof ApiError ? refused : new ApiError(0, String(refused)));
      setBusy(false);
    }
  };
  return (
    <main class="signin">
      <div class="signin-brand">
        <img src={`${BASE}icon.svg`} alt="" width="36" height="36" />
        <h1>Reelstate</h1>
      </div>
      <form class="panel" onSubmit={submit}>
        <div class="panel-body stack">
          {signedOutReason.value && (
            <div class="notice warn" role="status">
              {signedOutReason.value}
            </div>
          )}
          <label class="field">
            <span>Key</span>
            <input
              class="input mono"
              type="password"
              name="key"
              autoComplete="current-password"
              placeholder="reel_…"
              value={key}
              required
              autoFocus
              onInput={(event) => setKey(event.currentTarget.value)}
            />
          </label>
          {error && (
            <div class="notice error" role="alert">
              <span>{error.message}</span>
              {error.hint && <span class="muted small">{error.hint}</span>}
            </div>
          )}
          <button type="submit" class="button primary" disabled={isBusy || !key.trim()}>
            Sign in
          </button>
        </div>
      </form>
      <div class="stack muted">
        <p>
          The server prints an address that signs in once when it starts for the first time. To make a key, run this where the server
          runs:
        </p>
        <Command text="reel keys create me --scope admin" />
      </div>
    </main>
  );
}

/** The page while the server cannot be reached. */
export function Unreachable() {
  return (
    <main class="signin">
      <div class="notice error" role="alert">
        <strong>The server cannot be reached.</strong>
        <span>{sessionError.value?.message}</span>
      </div>
      <button type="button" class="button" onClick={() => loadSession()}>
        Try again
      </button>
    </main>
  );
}

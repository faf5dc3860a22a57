/** Who is signed in, and what the scopes of the session permit. */

import { computed, signal } from '@preact/signals';
import { ApiError, ROOT, send, whenSignedOut } from './api/client';
import type { Scope } from './api/types';

export interface Session {
  name: string;
  user_id: string;
  scopes: Scope[];
  /** The version of the server's software. */
  version?: string;
}

/** The session; `undefined` while it is asked for, `null` when nobody is signed in. */
export const session = signal<Session | null | undefined>(undefined);
/** Why the visitor must sign in again; empty for a first visit. */
export const signedOutReason = signal('');
/** What keeps the page from starting: the server cannot be reached. */
export const sessionError = signal<ApiError | null>(null);

export const isAdmin = computed(() => session.value?.scopes.includes('admin') ?? false);

/** Return whether the session permits a scope; reading it in a component subscribes to it. */
export function may(scope: Scope): boolean {
  return isAdmin.value || (session.value?.scopes.includes(scope) ?? false);
}

export async function loadSession(): Promise<void> {
  try {
    session.value = (await send('get', new URL('api/v1/session', ROOT))) as Session;
    sessionError.value = null;
  } catch (error) {
    if (error instanceof ApiError && (error.status === 401 || error.status === 403)) session.value = null;
    else if (error instanceof ApiError) sessionError.value = error;
    else throw error;
  }
}

export async function signIn(key: string): Promise<void> {
  await send('post', new URL('signin', ROOT), { body: { key } });
  signedOutReason.value = '';
  await loadSession();
}

export async function signOut(): Promise<void> {
  await send('post', new URL('signout', ROOT));
  signedOutReason.value = '';
  session.value = null;
}

/** Show the sign-in page: the session has ended. */
export function endSession(reason: string): void {
  if (session.value) signedOutReason.value = reason;
  session.value = null;
}

whenSignedOut(() => endSession('Your session has ended: the key was revoked or has expired.'));

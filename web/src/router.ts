/** The address bar as a signal: paths below the page's base, parameters in the query. */

import { computed, signal } from '@preact/signals';

/** The path of the page's root, such as `/ui/` or `/prefix/ui/`. */
export const BASE = new URL(globalThis.document?.baseURI ?? 'http://localhost/ui/').pathname;

export interface Place {
  /** The path below the base, without a slash at its ends; names in it are encoded. */
  path: string;
  query: URLSearchParams;
}

function current(): Place {
  const { pathname, search } = globalThis.location ?? { pathname: BASE, search: '' };
  const below = pathname.startsWith(BASE) ? pathname.slice(BASE.length) : '';
  return { path: below.replace(/^\/+|\/+$/g, ''), query: new URLSearchParams(search) };
}

export const place = signal<Place>(current());
export const query = computed(() => place.value.query);

/** Return the address of a path below the base: each piece is encoded, so that names may have slashes. */
export function hrefOf(pieces: readonly (string | number)[], params: Record<string, string | undefined> = {}): string {
  const path = pieces.map((piece) => encodeURIComponent(String(piece))).join('/');
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (value !== undefined && value !== '') search.set(name, value);
  const text = search.toString();
  return BASE + path + (text ? `?${text}` : '');
}

/** Go to an address of the page; `replace` leaves no entry in the history. */
export function navigate(href: string, options: { replace?: boolean; keepScroll?: boolean } = {}): void {
  history[options.replace ? 'replaceState' : 'pushState'](null, '', href);
  place.value = current();
  if (!options.replace && !options.keepScroll) globalThis.scrollTo(0, 0);
}

/** Set parameters of the current address; `undefined` and the empty text remove one. */
export function setQuery(changes: Record<string, string | undefined>, options: { push?: boolean } = {}): void {
  const search = new URLSearchParams(place.value.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') search.delete(name);
    else search.set(name, value);
  }
  const text = search.toString();
  navigate(location.pathname + (text ? `?${text}` : ''), { replace: !options.push, keepScroll: true });
}

/** Match a path with a pattern such as `jobs/:id`; return the decoded parameters, or null. */
export function match(pattern: string, path: string): Record<string, string> | null {
  const wanted = pattern === '' ? [] : pattern.split('/');
  const given = path === '' ? [] : path.split('/');
  if (wanted.length !== given.length) return null;
  const params: Record<string, string> = {};
  for (const [index, piece] of wanted.entries()) {
    const value = given[index] ?? '';
    if (piece.startsWith(':')) {
      try {
        params[piece.slice(1)] = decodeURIComponent(value);
      } catch {
        return null;
      }
    } else if (piece !== value) return null;
  }
  return params;
}

/** Follow clicks on links of the page, and the buttons back and forward. */
export function startRouter(): void {
  addEventListener('popstate', () => {
    place.value = current();
  });
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element | null)?.closest?.('a');
    if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
    if (!link.pathname.startsWith(BASE)) return;
    event.preventDefault();
    navigate(link.pathname + link.search + link.hash);
  });
}

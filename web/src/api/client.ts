/** A typed client of the API. Paths, parameters and answers come from the OpenAPI document (`schema.ts`). */

import type { paths } from './schema';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';
type Operation<P extends keyof paths, M extends Method> = M extends keyof paths[P] ? NonNullable<paths[P][M]> : never;

/** The paths that have a method. */
export type PathWith<M extends Method> = {
  [P in keyof paths]: M extends keyof paths[P] ? (undefined extends paths[P][M] ? never : P) : never;
}[keyof paths];

type Content<T> = T extends { content: { 'application/json': infer Body } } ? Body : undefined;
type Successes<T> = T extends { responses: infer R } ? R[keyof R & (200 | 201 | 202)] : never;
export type Answer<P extends keyof paths, M extends Method> = Content<Successes<Operation<P, M>>>;
export type Body<P extends keyof paths, M extends Method> = Operation<P, M> extends {
  requestBody?: { content: { 'application/json': infer B } };
}
  ? B
  : Operation<P, M> extends { requestBody?: { content: { 'application/json': infer B } } | undefined }
    ? B
    : undefined;
export type Query<P extends keyof paths, M extends Method> = Operation<P, M> extends { parameters: { query?: infer Q } }
  ? Q
  : never;

/** What fills the `{names}` of a path. Ids are strings on the page. */
export type PathValues = Record<string, string | number>;
export type QueryValue = string | number | boolean | null | undefined | readonly (string | number)[];

export interface RequestOptions<P extends keyof paths, M extends Method> {
  path?: PathValues;
  query?: Query<P, M>;
  body?: Body<P, M>;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** The root of the server, with the path prefix: the page lives below it, in `ui/`. */
export const ROOT = new URL('..', globalThis.document?.baseURI ?? 'http://localhost/ui/');

/** An error of the API: what is wrong, and what to do. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly hint: string | null = null,
    readonly field: string | null = null,
    readonly kind: string = '',
  ) {
    super(message);
    this.name = 'ApiError';
  }
}

/** Called when a request is refused because nobody is signed in. */
const onSignedOut: { call: () => void } = { call: () => undefined };
export function whenSignedOut(call: () => void): void {
  onSignedOut.call = call;
}

/** Return the address of a path of the API, with values and query filled in and encoded. */
export function addressOf(path: string, values: PathValues = {}, query: Record<string, QueryValue> = {}): URL {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`no value for {${name}} of ${path}`);
    return encodeURIComponent(String(value));
  });
  const address = new URL(filled.replace(/^\//, ''), ROOT);
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === '') continue;
    for (const each of Array.isArray(value) ? value : [value]) address.searchParams.append(name, String(each));
  }
  return address;
}

/** Send a request and return its JSON. Raise `ApiError` for a refusal, and for a server that cannot be reached. */
export async function send(
  method: string,
  address: URL,
  options: { body?: unknown; headers?: Record<string, string> | undefined; signal?: AbortSignal | undefined } = {},
): Promise<unknown> {
  const headers: Record<string, string> = { accept: 'application/json', 'x-reelstate': 'dashboard', ...options.headers };
  const init: RequestInit = { method: method.toUpperCase(), headers, credentials: 'same-origin' };
  if (options.signal) init.signal = options.signal;
  if (options.body !== undefined) {
    headers['content-type'] = 'application/json';
    init.body = JSON.stringify(options.body);
  }
  let response: Response;
  try {
    response = await fetch(address, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError(0, 'the server cannot be reached', 'check the connection; the page tries again');
  }
  if (!response.ok) {
    const refused = await problemOf(response);
    if (refused.status === 401) onSignedOut.call();
    throw refused;
  }
  if (response.status === 204) return undefined;
  return response.json();
}

async function problemOf(response: Response): Promise<ApiError> {
  try {
    const problem = (await response.json()) as Record<string, unknown>;
    const text = (name: string) => (typeof problem[name] === 'string' ? (problem[name] as string) : null);
    const kind = (text('type') ?? '').replace(/^urn:reelstate:error:/, '');
    return new ApiError(response.status, text('detail') ?? response.statusText, text('hint'), text('field'), kind);
  } catch {
    return new ApiError(response.status, response.statusText || `status ${response.status}`);
  }
}

async function request<P extends keyof paths, M extends Method>(
  method: M,
  path: P,
  options: RequestOptions<P, M> = {},
): Promise<Answer<P, M>> {
  const query = (options.query ?? {}) as Record<string, QueryValue>;
  const address = addressOf(path as string, options.path, query);
  return (await send(method, address, options)) as Answer<P, M>;
}

export const api = {
  get: <P extends PathWith<'get'>>(path: P, options?: RequestOptions<P, 'get'>) => request('get', path, options),
  post: <P extends PathWith<'post'>>(path: P, options?: RequestOptions<P, 'post'>) => request('post', path, options),
  put: <P extends PathWith<'put'>>(path: P, options?: RequestOptions<P, 'put'>) => request('put', path, options),
  patch: <P extends PathWith<'patch'>>(path: P, options?: RequestOptions<P, 'patch'>) => request('patch', path, options),
  delete: <P extends PathWith<'delete'>>(path: P, options?: RequestOptions<P, 'delete'>) => request('delete', path, options),
};

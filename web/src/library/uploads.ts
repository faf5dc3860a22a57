/** Uploads of this tab. They go on while the reader visits other pages, and are continued after a reload. */

import { signal } from '@preact/signals';
import { addressOf, api, ApiError, send } from '../api/client';
import { toast } from '../components/Toast';
import { hrefOf, navigate } from '../router';
import { storedSignal } from '../stored';
import { isStoredList, metadataOf, nextPiece, remedyOf, retryDelay, Speed, titleOf, uploadOf, type StoredUpload } from './upload';

export type UploadState = 'waiting' | 'sending' | 'paused' | 'retrying' | 'creating' | 'done' | 'failed' | 'needs file';

export interface Upload {
  key: string;
  id: string | null;
  name: string;
  size: number;
  title: string;
  profile: string;
  received: number;
  speed: number;
  state: UploadState;
  error: string | null;
  hint: string | null;
  video: string | null;
}

/** Files that are sent at once. */
const PARALLEL = 2;
const stored = storedSignal<StoredUpload[]>('uploads', [], isStoredList);
export const uploads = signal<readonly Upload[]>([]);

const files = new Map<string, File>();
const requests = new Map<string, XMLHttpRequest>();
let last = 0;

function change(key: string, changes: Partial<Upload>): void {
  uploads.value = uploads.value.map((each) => (each.key === key ? { ...each, ...changes } : each));
}

function find(key: string): Upload | undefined {
  return uploads.peek().find((each) => each.key === key);
}

function remember(id: string, changes: Partial<StoredUpload>): void {
  stored.value = stored.value.map((each) => (each.id === id ? { ...each, ...changes } : each));
}

function forget(id: string | null): void {
  stored.value = stored.value.filter((each) => each.id !== id);
}

/** Show the uploads that an earlier visit left unfinished. The server says how much of them it has. */
export async function restoreUploads(): Promise<void> {
  for (const each of stored.peek()) {
    if (uploads.peek().some((upload) => upload.id === each.id)) continue;
    const key = `upload-${++last}`;
    const made: Upload = { key, id: each.id, name: each.name, size: each.size, title: each.title, profile: each.profile, received: each.received, speed: 0, state: 'needs file', error: null, hint: null, video: null };
    uploads.value = [...uploads.value, made];
    try {
      const found = await api.get('/api/v1/uploads/{upload_id}', { path: { upload_id: each.id } });
      change(key, { received: found.received });
      if (found.complete && find(key)?.state === 'needs file') await createVideo(key);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) dismiss(key);
    }
  }
}

/** Take files: one that continues an unfinished upload does so, the others are new. */
export function addFiles(added: Iterable<File>, profile: string): void {
  for (const file of added) {
    const known = uploadOf(file, stored.peek());
    const shown = known && uploads.peek().find((each) => each.id === known.id);
    if (shown) {
      if (shown.state === 'needs file' || shown.state === 'failed' || shown.state === 'paused') {
        files.set(shown.key, file);
        change(shown.key, { state: 'waiting', error: null, hint: null });
      } else toast(`${file.name} is being uploaded already`);
      continue;
    }
    const key = `upload-${++last}`;
    files.set(key, file);
    const title = titleOf(file.name);
    uploads.value = [...uploads.value, { key, id: null, name: file.name, size: file.size, title, profile, received: 0, speed: 0, state: 'waiting', error: null, hint: null, video: null }];
  }
  startWaiting();
}

function startWaiting(): void {
  const busy = uploads.peek().filter((each) => each.state === 'sending' || each.state === 'retrying').length;
  for (const each of uploads.peek().filter((upload) => upload.state === 'waiting').slice(0, Math.max(0, PARALLEL - busy))) void run(each.key);
}

export function pause(key: string): void {
  change(key, { state: 'paused', speed: 0 });
  requests.get(key)?.abort();
  startWaiting();
}

export function resume(key: string): void {
  if (!files.has(key)) change(key, { state: 'needs file' });
  else {
    change(key, { state: 'waiting', error: null, hint: null });
    startWaiting();
  }
}

/** Delete an unfinished upload, here and at the server. */
export async function discard(key: string): Promise<void> {
  const upload = find(key);
  change(key, { state: 'paused' });
  requests.get(key)?.abort();
  if (upload?.id && upload.state !== 'done') {
    try {
      await api.delete('/api/v1/uploads/{upload_id}', { path: { upload_id: upload.id } });
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
    }
  }
  dismiss(key);
}

export function dismiss(key: string): void {
  forget(find(key)?.id ?? null);
  files.delete(key);
  uploads.value = uploads.value.filter((each) => each.key !== key);
  startWaiting();
}

const wait = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds));
const isWanted = (key: string) => ['sending', 'retrying'].includes(find(key)?.state ?? '');

async function run(key: string): Promise<void> {
  const file = files.get(key);
  if (!file) return change(key, { state: 'needs file' });
  change(key, { state: 'sending', error: null, hint: null });
  const speed = new Speed();
  let failures = 0;
  while (isWanted(key)) {
    try {
      const id = find(key)?.id ?? (await create(key, file));
      let received = (await api.get('/api/v1/uploads/{upload_id}', { path: { upload_id: id } })).received;
      change(key, { received, state: 'sending', error: null });
      for (let piece = nextPiece(received, file.size); piece && isWanted(key); piece = nextPiece(received, file.size)) {
        const from = piece.start;
        received = await sendPiece(key, id, file.slice(piece.start, piece.end), from, (bytes) => {
          speed.add(Date.now(), from + bytes);
          change(key, { received: from + bytes, speed: speed.value });
        });
        change(key, { received });
        remember(id, { received });
        failures = 0;
      }
      if (!isWanted(key)) break;
      await createVideo(key);
      break;
    } catch (error) {
      if (!isWanted(key)) break;
      const refused = error instanceof ApiError ? error : new ApiError(400, String(error));
      const remedy = remedyOf(refused.status);
      failures++;
      if (remedy === 'give up') {
        change(key, { state: 'failed', error: refused.message, hint: refused.hint, speed: 0 });
        break;
      }
      if (remedy === 'start again') {
        forget(find(key)?.id ?? null);
        change(key, { id: null, received: 0 });
      }
      change(key, { state: 'retrying', error: refused.message, hint: null, speed: 0 });
      await wait(retryDelay(failures, Math.random()));
    }
  }
  startWaiting();
}

async function create(key: string, file: File): Promise<string> {
  const headers = { 'upload-length': String(file.size), 'upload-metadata': metadataOf(file.name), 'tus-resumable': '1.0.0' };
  const made = (await send('post', addressOf('/api/v1/uploads'), { headers })) as { id: string };
  const { title, profile } = find(key) ?? { title: file.name, profile: '' };
  stored.value = [...stored.value, { id: made.id, name: file.name, size: file.size, modified: file.lastModified, title, profile, received: 0, createdAt: Date.now() }];
  change(key, { id: made.id });
  return made.id;
}

/** Send a piece; resolve with the offset after it. `fetch` reports no progress of uploads, XMLHttpRequest does. */
function sendPiece(key: string, id: string, piece: Blob, offset: number, onProgress: (bytes: number) => void): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    requests.set(key, request);
    request.open('PATCH', addressOf('/api/v1/uploads/{upload_id}', { upload_id: id }));
    request.setRequestHeader('content-type', 'application/offset+octet-stream');
    request.setRequestHeader('upload-offset', String(offset));
    request.setRequestHeader('tus-resumable', '1.0.0');
    request.setRequestHeader('x-reelstate', 'dashboard');
    request.upload.onprogress = (event) => onProgress(event.loaded);
    request.onload = () => {
      if (request.status === 204) return resolve(Number(request.getResponseHeader('upload-offset') ?? offset + piece.size));
      const problem = problemOf(request.responseText);
      reject(new ApiError(request.status, problem.detail ?? `status ${request.status}`, problem.hint ?? null));
    };
    request.onerror = () => reject(new ApiError(0, 'the server cannot be reached'));
    request.onabort = () => reject(new ApiError(0, 'paused'));
    request.onloadend = () => requests.delete(key);
    request.send(piece);
  });
}

function problemOf(text: string): { detail?: string; hint?: string } {
  try {
    return JSON.parse(text) as { detail?: string; hint?: string };
  } catch {
    return {};
  }
}

async function createVideo(key: string): Promise<void> {
  const upload = find(key);
  if (!upload?.id) return;
  change(key, { state: 'creating', speed: 0 });
  try {
    const body = { upload: upload.id, title: upload.title, priority: 5 as const, delay: 0, ...(upload.profile ? { profile: upload.profile } : {}) };
    const made = await api.post('/api/v1/videos', { body, headers: { 'idempotency-key': `dashboard-${upload.id}` } });
    forget(upload.id);
    files.delete(key);
    const video = String(made.id);
    change(key, { state: 'done', received: upload.size, video });
    toast(`“${upload.title}” is uploaded`, 'done', { action: { label: 'Open', run: () => navigate(hrefOf(['videos', video])) } });
    setTimeout(() => dismiss(key), 8000);
  } catch (error) {
    const refused = error instanceof ApiError ? error : new ApiError(0, String(error));
    if (refused.status === 404) forget(upload.id);
    change(key, { state: 'failed', error: refused.message, hint: refused.hint });
  }
}

globalThis.addEventListener?.('beforeunload', (event) => {
  if (uploads.peek().some((each) => each.state === 'sending' || each.state === 'creating')) event.preventDefault();
});

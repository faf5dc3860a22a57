/** The pure part of resumable uploads: which bytes to send next, when to try again, and which file continues what. */

/** Bytes of one request. The server keeps what arrived of it, so a lost connection repeats at most the unsaved end. */
export const PIECE = 8 * 1024 * 1024;
const FIRST_DELAY = 1000;
const MAX_DELAY = 30_000;

/** An upload that the browser remembers. The file itself is not kept: after a reload the reader chooses it again. */
export interface StoredUpload {
  id: string;
  name: string;
  size: number;
  /** When the file was last changed, in milliseconds since 1970. */
  modified: number;
  title: string;
  profile: string;
  /** Bytes that the server has, when it was last asked. */
  received: number;
  createdAt: number;
}

export interface FileFacts {
  name: string;
  size: number;
  lastModified: number;
}

/** Return the range of the next piece, or null when every byte is there. */
export function nextPiece(received: number, size: number, piece = PIECE): { start: number; end: number } | null {
  if (received >= size) return null;
  return { start: received, end: Math.min(size, received + piece) };
}

/** Return the milliseconds to wait before an attempt; `failures` counts those since the last piece that arrived. */
export function retryDelay(failures: number, random: number): number {
  return Math.min(MAX_DELAY, FIRST_DELAY * 2 ** Math.max(0, failures - 1)) * (0.75 + random / 2);
}

/** Return the stored upload that a file continues: the same name, size and time of change. */
export function uploadOf(file: FileFacts, stored: readonly StoredUpload[]): StoredUpload | undefined {
  return stored.find((each) => each.name === file.name && each.size === file.size && each.modified === file.lastModified);
}

/** What an error of a request means for the upload. */
export type Remedy = 'ask offset' | 'start again' | 'try again' | 'give up';

export function remedyOf(status: number): Remedy {
  if (status === 409) return 'ask offset';
  if (status === 404 || status === 410) return 'start again';
  if (status === 0 || status === 408 || status === 429 || status === 460 || status >= 500) return status === 507 ? 'give up' : 'try again';
  return 'give up';
}

/** Return the title of a video that is made from a file: its name without the suffix, with spaces. */
export function titleOf(name: string): string {
  return name.replace(/\.[A-Za-z0-9]{1,5}$/, '').replaceAll('_', ' ').trim() || name;
}

/** Return the metadata header of the tus protocol. */
export function metadataOf(name: string): string {
  const bytes = new TextEncoder().encode(name);
  return `filename ${btoa(String.fromCharCode(...bytes))}`;
}

/** The speed of an upload over the last seconds, in bytes per second. */
export class Speed {
  private samples: { at: number; bytes: number }[] = [];

  add(at: number, bytes: number): void {
    this.samples.push({ at, bytes });
    while (this.samples.length > 2 && at - (this.samples[0]?.at ?? at) > 5000) this.samples.shift();
  }

  get value(): number {
    const first = this.samples[0];
    const last = this.samples.at(-1);
    if (!first || !last || last.at <= first.at) return 0;
    return Math.max(0, ((last.bytes - first.bytes) * 1000) / (last.at - first.at));
  }
}

function isStored(value: unknown): value is StoredUpload {
  const each = value as StoredUpload;
  return (
    typeof value === 'object' &&
    value !== null &&
    [each.id, each.name, each.title, each.profile].every((text) => typeof text === 'string') &&
    [each.size, each.modified, each.received, each.createdAt].every((number) => typeof number === 'number')
  );
}

export function isStoredList(value: unknown): value is StoredUpload[] {
  return Array.isArray(value) && value.every(isStored);
}

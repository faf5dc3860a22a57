/** What the manifest of a version says: sizes and bitrates of its tracks, and its frames. Pure. */

export interface TrackSize {
  kind: 'video' | 'audio' | 'captions' | 'pictures';
  name: string;
  bytes: number;
  /** Bits per second, on average; null where that means nothing. */
  average: number | null;
  /** Bits per second of the largest segment. */
  peak: number | null;
  width: number | null;
  height: number | null;
  codecs: string | null;
}

export interface VersionSizes {
  tracks: TrackSize[];
  bytes: number;
  duration: number;
  frames: number;
  /** Frames per second. */
  rate: number;
}

interface Chunk {
  key: string;
  segments: [offset: number, size: number, ticks: number, key: number][];
}

interface Track {
  name: string;
  init: string;
  playlist: string;
  chunks: Chunk[];
}

interface Manifest {
  rate: string;
  frames: number;
  duration: string;
  files: Record<string, { size: number }>;
  rungs: Track[];
  audio: Track[];
  captions: { name: string; playlist: string; file: string }[];
}

/** Return a fraction such as `30000/1001` as a number. */
export function fraction(text: string | number): number {
  const [above, below] = String(text).split('/');
  const value = Number(above) / (below === undefined ? 1 : Number(below));
  return Number.isFinite(value) ? value : 0;
}

/** Return the tracks of a manifest with their sizes, videos first and the largest first. `master` adds their pictures' sizes. */
export function readManifest(manifest: unknown, master = ''): VersionSizes {
  const { rate, frames, duration, files, rungs, audio, captions } = manifest as Manifest;
  const seconds = fraction(duration);
  const sizeOf = (key: string) => files[key]?.size ?? 0;
  const pictures = renditionsOf(master);
  const used = new Set<string>();
  const take = (keys: readonly string[]) => {
    let bytes = 0;
    for (const key of keys) {
      if (!used.has(key)) bytes += sizeOf(key);
      used.add(key);
    }
    return bytes;
  };
  const trackOf = (kind: 'video' | 'audio', track: Track): TrackSize => {
    const bytes = take([track.init, track.playlist, ...track.chunks.map((chunk) => chunk.key)]);
    const media = track.chunks.reduce((sum, chunk) => sum + chunk.segments.reduce((part, segment) => part + segment[1], 0), 0);
    const segments = track.chunks.flatMap((chunk) => chunk.segments);
    const ticks = segments.reduce((sum, segment) => sum + segment[2], 0);
    const scale = ticks > 0 && seconds > 0 ? ticks / seconds : 0;
    const peak = scale ? segments.reduce((most, segment) => (segment[2] > 0 ? Math.max(most, (segment[1] * 8 * scale) / segment[2]) : most), 0) : null;
    const picture = kind === 'video' ? pictures.get(track.name) : undefined;
    return {
      kind,
      name: track.name,
      bytes,
      average: seconds > 0 ? (media * 8) / seconds : null,
      peak,
      width: picture?.width ?? null,
      height: picture?.height ?? null,
      codecs: picture?.codecs ?? null,
    };
  };
  const plain = (kind: 'captions' | 'pictures', name: string, bytes: number): TrackSize => ({ kind, name, bytes, average: null, peak: null, width: null, height: null, codecs: null });
  const tracks = rungs.map((track) => trackOf('video', track)).sort((a, b) => b.bytes - a.bytes);
  tracks.push(...audio.map((track) => trackOf('audio', track)));
  tracks.push(...captions.map((track) => plain('captions', track.name, take([track.file, track.playlist]))));
  const images = take(Object.keys(files).filter((key) => /\.(jpe?g|png|webp)$|sprites\.vtt$/.test(key)));
  if (images) tracks.push(plain('pictures', 'poster and previews', images));
  const bytes = Object.values(files).reduce((sum, file) => sum + file.size, 0);
  return { tracks, bytes, duration: seconds, frames, rate: fraction(rate) };
}

interface Rendition {
  width: number;
  height: number;
  codecs: string | null;
}

/** Return the renditions of a master playlist by the name of their playlist's file: `…/720p.m3u8` → `720p`. */
export function renditionsOf(master: string): Map<string, Rendition> {
  const found = new Map<string, Rendition>();
  const lines = master.split(/\r?\n/);
  for (const [index, line] of lines.entries()) {
    if (!line.startsWith('#EXT-X-STREAM-INF:')) continue;
    const size = /[:,]RESOLUTION=(\d+)x(\d+)/.exec(line);
    const codecs = /[:,]CODECS="([^"]*)"/.exec(line);
    const name = (lines[index + 1] ?? '').split('/').at(-1)?.replace(/\.m3u8.*$/, '');
    if (size && name) found.set(decodeURIComponent(name), { width: Number(size[1]), height: Number(size[2]), codecs: codecs?.[1]?.split(',')[0] ?? null });
  }
  return found;
}

/** Return the name of a codec as people say it: `avc1.64001e` → `H.264`. */
export function codecName(codecs: string | null): string {
  const start = codecs?.split('.')[0] ?? '';
  return { avc1: 'H.264', avc3: 'H.264', hvc1: 'HEVC', hev1: 'HEVC', av01: 'AV1', mp4a: 'AAC' }[start] ?? start;
}

/** Return the number of the frame that is shown at a time. */
export function frameAt(seconds: number, rate: number): number {
  return Math.max(0, Math.floor(seconds * rate + 0.01));
}

/** Return a time in the middle of a frame: seeking there shows it, however the times were rounded. */
export function timeOfFrame(frame: number, rate: number): number {
  return (frame + 0.5) / rate;
}

/** `75.2` → `1:15`; with hours `1:02:03`. */
export function playTime(seconds: number): string {
  if (!Number.isFinite(seconds)) return '–';
  const whole = Math.max(0, Math.floor(seconds));
  const two = (value: number) => String(value).padStart(2, '0');
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  return hours ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}

/** Plays HLS in a <video>: by hls.js, which is loaded when it is first needed, or by the browser itself. */

import type Hls from 'hls.js';
import type { ErrorData } from 'hls.js';

export interface PlayerTrack {
  id: number;
  label: string;
}

/** What a player offers and does. Its parts change as the stream grows; `onChange` tells so. */
export interface PlayerHandle {
  readonly qualities: readonly PlayerTrack[];
  /** -1 is automatic. */
  readonly quality: number;
  /** The quality that is shown now. */
  readonly shown: string;
  readonly audio: readonly PlayerTrack[];
  readonly audioTrack: number;
  readonly captions: readonly PlayerTrack[];
  /** -1 is off. */
  readonly captionTrack: number;
  readonly isGrowing: boolean;
  setQuality(id: number): void;
  setAudio(id: number): void;
  setCaptions(id: number): void;
  destroy(): void;
}

export interface PlayerOptions {
  source: string;
  startAt: number;
  /** Prefer the best quality at once: for comparisons. */
  isBest?: boolean;
  onChange: () => void;
  onError: (message: string) => void;
}

const MAX_RECOVERIES = 3;
/** Milliseconds between attempts to read a stream that does not answer. */
const RETRY = 2000;

/** Start to play; the returned handle must be destroyed. */
export async function openPlayer(video: HTMLVideoElement, options: PlayerOptions): Promise<PlayerHandle> {
  const { default: Player } = await import('hls.js');
  if (Player.isSupported()) return new HlsPlayer(new Player(configOf(options)), Player, video, options);
  if (video.canPlayType('application/vnd.apple.mpegurl')) return new NativePlayer(video, options);
  throw new Error('this browser plays no HLS');
}

function configOf(options: PlayerOptions) {
  return {
    startPosition: options.startAt > 0 ? options.startAt : 0,
    enableWorker: false,
    // A stream of a running job grows from its beginning: the reader watches it from there.
    liveSyncDurationCount: 1,
    liveMaxLatencyDurationCount: Number.POSITIVE_INFINITY,
    liveDurationInfinity: false,
    backBufferLength: 60,
    maxBufferLength: 20,
    renderTextTracksNatively: true,
    ...(options.isBest ? { abrEwmaDefaultEstimate: 1e9, abrEwmaDefaultEstimateMax: 1e9, testBandwidth: false } : {}),
  };
}

class HlsPlayer implements PlayerHandle {
  private recoveries = 0;
  private timer: ReturnType<typeof setTimeout> | null = null;

  constructor(
    private readonly hls: Hls,
    Player: typeof Hls,
    video: HTMLVideoElement,
    private readonly options: PlayerOptions,
  ) {
    const { Events, ErrorTypes } = Player;
    hls.on(Events.ERROR, (_, data: ErrorData) => {
      if (!data.fatal) return;
      if (data.type === ErrorTypes.MEDIA_ERROR && this.recoveries++ < MAX_RECOVERIES) hls.recoverMediaError();
      else if (data.type === ErrorTypes.NETWORK_ERROR) {
        if (data.response?.code === 401) return options.onError('your session has ended');
        this.timer = setTimeout(() => (hls.levels.length ? hls.startLoad() : hls.loadSource(options.source)), RETRY);
      } else options.onError(`${data.details}: ${data.error?.message ?? ''}`.replace(/: $/, ''));
    });
    for (const event of [Events.MANIFEST_PARSED, Events.LEVEL_SWITCHED, Events.AUDIO_TRACKS_UPDATED, Events.AUDIO_TRACK_SWITCHED, Events.SUBTITLE_TRACKS_UPDATED, Events.SUBTITLE_TRACK_SWITCH, Events.LEVEL_UPDATED] as const) {
      hls.on(event, options.onChange);
    }
    hls.on(Events.MANIFEST_PARSED, () => {
      if (options.isBest) hls.currentLevel = hls.levels.length - 1;
    });
    hls.on(Events.FRAG_BUFFERED, () => {
      this.recoveries = 0;
    });
    hls.loadSource(options.source);
    hls.attachMedia(video);
  }

  get qualities(): PlayerTrack[] {
    return this.hls.levels
      .map((level, id) => ({ id, label: nameOfLevel(level) }))
      .reverse();
  }

  get quality(): number {
    return this.hls.autoLevelEnabled ? -1 : this.hls.loadLevel;
  }

  get shown(): string {
    const level = this.hls.levels[this.hls.currentLevel];
    return level ? nameOfLevel(level) : '';
  }

  get audio(): PlayerTrack[] {
    return this.hls.audioTracks.map((track, id) => ({ id, label: track.name || track.lang || `track ${id + 1}` }));
  }

  get audioTrack(): number {
    return this.hls.audioTrack;
  }

  get captions(): PlayerTrack[] {
    return this.hls.subtitleTracks.map((track, id) => ({ id, label: track.name || track.lang || `track ${id + 1}` }));
  }

  get captionTrack(): number {
    return this.hls.subtitleDisplay ? this.hls.subtitleTrack : -1;
  }

  get isGrowing(): boolean {
    return this.hls.levels[Math.max(0, this.hls.currentLevel)]?.details?.live ?? false;
  }

  setQuality(id: number): void {
    if (id < 0) this.hls.nextLevel = -1;
    else this.hls.currentLevel = id;
    this.options.onChange();
  }

  setAudio(id: number): void {
    this.hls.audioTrack = id;
    this.options.onChange();
  }

  setCaptions(id: number): void {
    this.hls.subtitleDisplay = id >= 0;
    this.hls.subtitleTrack = id;
    this.options.onChange();
  }

  destroy(): void {
    if (this.timer) clearTimeout(this.timer);
    this.hls.destroy();
  }
}

function nameOfLevel(level: { height: number; width: number; url: readonly string[]; bitrate: number }): string {
  const file = (level.url[0] ?? '').split('?')[0]?.split('/').at(-1)?.replace(/\.m3u8$/, '');
  if (file && /^[\w.-]+$/.test(file)) return file;
  return level.height ? `${Math.min(level.height, level.width || level.height)}p` : `${Math.round(level.bitrate / 1000)} kbit/s`;
}

/** Safari on phones plays HLS itself and chooses tracks in its own controls. */
class NativePlayer implements PlayerHandle {
  readonly qualities = [];
  readonly quality = -1;
  readonly shown = '';
  readonly audio = [];
  readonly audioTrack = -1;
  readonly captions = [];
  readonly captionTrack = -1;
  readonly isGrowing = false;

  constructor(
    private readonly video: HTMLVideoElement,
    options: PlayerOptions,
  ) {
    video.src = options.source;
    video.addEventListener('loadedmetadata', options.onChange, { once: true });
    video.addEventListener('error', () => options.onError(video.error?.message ?? 'the video cannot be played'), { once: true });
  }

  setQuality(): void {}
  setAudio(): void {}
  setCaptions(): void {}

  destroy(): void {
    this.video.removeAttribute('src');
    this.video.load();
  }
}

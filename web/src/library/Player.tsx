import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { openPlayer, type PlayerHandle, type PlayerTrack } from './hls';

const SPEEDS = [0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 4] as const;

/** Play a stream in a <video>. `source` may be that of a job that runs: the stream grows while it is watched. */
export function usePlayer(video: RefObject<HTMLVideoElement | null>, source: string | null, options: { isBest?: boolean } = {}) {
  const [player, setPlayer] = useState<PlayerHandle | null>(null);
  const [error, setError] = useState('');
  const [, setCount] = useState(0);
  useEffect(() => {
    const element = video.current;
    if (!source || !element) return;
    let isGone = false;
    let made: PlayerHandle | null = null;
    setError('');
    const startAt = element.currentTime;
    openPlayer(element, { source, startAt, ...options, onChange: () => setCount((count) => count + 1), onError: setError }).then(
      (opened) => {
        made = opened;
        if (isGone) opened.destroy();
        else setPlayer(opened);
      },
      (refused) => setError(String(refused)),
    );
    return () => {
      isGone = true;
      made?.destroy();
      setPlayer(null);
    };
  }, [source]);
  return { player, error };
}

/** A video with the browser's controls, and below it the choice of quality, audio, captions and speed. */
export function Player({ source, poster, title }: { source: string; poster: string | null; title: string }) {
  const video = useRef<HTMLVideoElement>(null);
  const { player, error } = usePlayer(video, source);
  const [speed, setSpeed] = useState(1);
  return (
    <div class="player">
      <video
        ref={video}
        class="player-video"
        controls
        playsInline
        preload="metadata"
        aria-label={title}
        poster={poster ?? undefined}
        onRateChange={(event) => setSpeed(event.currentTarget.playbackRate)}
      />
      {error && (
        <div class="notice error" role="alert">
          The player stopped: {error}
        </div>
      )}
      <div class="player-bar">
        <Choice label="Quality" tracks={player?.qualities ?? []} value={player?.quality ?? -1} absent={player?.quality === -1 && player.shown ? `auto (${player.shown})` : 'auto'} onSelect={(id) => player?.setQuality(id)} />
        {(player?.audio.length ?? 0) > 0 && <Choice label="Audio" tracks={player?.audio ?? []} value={player?.audioTrack ?? -1} onSelect={(id) => player?.setAudio(id)} />}
        <Choice label="Captions" tracks={player?.captions ?? []} value={player?.captionTrack ?? -1} absent="off" onSelect={(id) => player?.setCaptions(id)} />
        <label class="player-choice">
          <span>Speed</span>
          <select
            class="select"
            value={String(speed)}
            onChange={(event) => {
              if (video.current) video.current.playbackRate = Number(event.currentTarget.value);
            }}
          >
            {SPEEDS.map((each) => (
              <option key={each} value={String(each)}>
                {each}×
              </option>
            ))}
          </select>
        </label>
        {player?.isGrowing && <span class="tag">grows while it is encoded</span>}
      </div>
    </div>
  );
}

export function Choice(props: { label: string; tracks: readonly PlayerTrack[]; value: number; absent?: string; onSelect: (id: number) => void }) {
  return (
    <label class="player-choice">
      <span>{props.label}</span>
      <select class="select" value={String(props.value)} disabled={props.tracks.length === 0} onChange={(event) => props.onSelect(Number(event.currentTarget.value))}>
        {props.absent !== undefined && <option value="-1">{props.absent}</option>}
        {props.tracks.map((track) => (
          <option key={track.id} value={String(track.id)}>
            {track.label}
          </option>
        ))}
      </select>
    </label>
  );
}

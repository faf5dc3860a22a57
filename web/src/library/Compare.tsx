/** Two versions at the same frame: side by side, or one over the other with an edge that moves. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon } from '../components/Icon';
import { number } from '../format';
import { useShortcuts } from '../keyboard';
import { storedSignal } from '../stored';
import { frameAt, playTime, timeOfFrame } from './manifest';
import { Choice, usePlayer } from './Player';

export interface Side {
  job: string;
  label: string;
  source: string;
}

type Mode = 'side' | 'wipe';
const mode = storedSignal<Mode>('compare', 'side', (value): value is Mode => value === 'side' || value === 'wipe');
const SECOND = 1;

export function Compare({ left, right, rate, frames }: { left: Side; right: Side; rate: number; frames: number }) {
  const first = useRef<HTMLVideoElement>(null);
  const second = useRef<HTMLVideoElement>(null);
  const one = usePlayer(first, left.source, { isBest: true });
  const two = usePlayer(second, right.source, { isBest: true });
  const [frame, setFrame] = useState(0);
  const [isPlaying, setPlaying] = useState(false);
  const [edge, setEdge] = useState(50);
  const shown = useShownFrames(first, second, rate);
  const last = Math.max(0, frames - 1);

  const show = (wanted: number) => {
    const target = Math.max(0, Math.min(last, wanted));
    setFrame(target);
    for (const video of [first.current, second.current]) {
      if (!video) continue;
      video.pause();
      video.currentTime = timeOfFrame(target, rate);
    }
    setPlaying(false);
  };
  const toggle = () => {
    const [a, b] = [first.current, second.current];
    if (!a || !b) return;
    if (isPlaying) return show(frameAt(a.currentTime, rate));
    b.currentTime = a.currentTime;
    setPlaying(true);
    void Promise.all([a.play(), b.play()]).catch(() => setPlaying(false));
  };

  useEffect(() => {
    if (!isPlaying) return;
    let request = 0;
    const follow = () => {
      const [a, b] = [first.current, second.current];
      if (a && b) {
        const behind = a.currentTime - b.currentTime;
        // A small distance is made up by speed, a large one by a jump.
        if (Math.abs(behind) > 0.4) b.currentTime = a.currentTime;
        else b.playbackRate = Math.abs(behind) < 0.5 / rate ? 1 : 1 + Math.max(-0.25, Math.min(0.25, behind * 2));
        setFrame(frameAt(a.currentTime, rate));
        if (a.ended) setPlaying(false);
      }
      request = requestAnimationFrame(follow);
    };
    request = requestAnimationFrame(follow);
    return () => {
      cancelAnimationFrame(request);
      if (second.current) second.current.playbackRate = 1;
    };
  }, [isPlaying, rate]);

  useShortcuts(
    [
      { keys: '.', label: 'Next frame', run: () => show(frame + 1) },
      { keys: ',', label: 'Previous frame', run: () => show(frame - 1) },
      { keys: ' ', label: 'Play or pause both', run: toggle },
      { keys: 'w', label: 'Side by side, or one over the other', run: () => (mode.value = mode.value === 'side' ? 'wipe' : 'side') },
    ],
    [frame, isPlaying],
  );

  const isSame = shown.left !== null && shown.left === shown.right;
  return (
    <div class="compare">
      <div class="compare-stage" data-mode={mode.value}>
        <figure>
          <video ref={first} playsInline preload="auto" aria-label={left.label} />
          <figcaption>{left.label}</figcaption>
        </figure>
        <figure style={mode.value === 'wipe' ? { clipPath: `inset(0 0 0 ${edge}%)` } : {}}>
          <video ref={second} playsInline muted preload="auto" aria-label={right.label} />
          <figcaption>{right.label}</figcaption>
        </figure>
        {mode.value === 'wipe' && <span class="compare-edge" style={{ left: `${edge}%` }} />}
        {mode.value === 'wipe' && (
          <input class="compare-wipe" type="range" min="0" max="100" step="0.5" value={edge} aria-label="Edge between the versions" onInput={(event) => setEdge(Number(event.currentTarget.value))} />
        )}
      </div>
      {(one.error || two.error) && (
        <div class="notice error" role="alert">
          {one.error || two.error}
        </div>
      )}
      <div class="compare-bar">
        <button type="button" class="button icon" aria-label="Previous frame" title="Previous frame (,)" onClick={() => show(frame - 1)}>
          <Icon name="left" />
        </button>
        <button type="button" class="button icon" aria-label={isPlaying ? 'Pause' : 'Play'} title="Play or pause (space)" onClick={toggle}>
          <Icon name={isPlaying ? 'pauses' : 'play'} />
        </button>
        <button type="button" class="button icon" aria-label="Next frame" title="Next frame (.)" onClick={() => show(frame + 1)}>
          <Icon name="right" />
        </button>
        <input class="compare-time" type="range" min="0" max={last} step={SECOND} value={frame} aria-label="Frame" onInput={(event) => show(Number(event.currentTarget.value))} />
        <span class="nowrap compare-frame" data-frames={`${shown.left},${shown.right}`}>
          {playTime(frame / rate)}, frame {number(frame)}
        </span>
        <span class={`tag ${isSame || isPlaying ? '' : 'warn'}`} title="The frames that the two pictures show, as the browser reports them">
          {isSame ? 'same frame' : shown.left === null || shown.right === null ? 'loading' : isPlaying ? 'in step' : `${shown.left} and ${shown.right}`}
        </span>
      </div>
      <div class="compare-bar">
        <Choice label={left.label} tracks={one.player?.qualities ?? []} value={one.player?.quality ?? -1} absent="auto" onSelect={(id) => one.player?.setQuality(id)} />
        <Choice label={right.label} tracks={two.player?.qualities ?? []} value={two.player?.quality ?? -1} absent="auto" onSelect={(id) => two.player?.setQuality(id)} />
        <div class="row" role="group" aria-label="Layout">
          <button type="button" class="button" aria-pressed={mode.value === 'side'} onClick={() => (mode.value = 'side')}>
            Side by side
          </button>
          <button type="button" class="button" aria-pressed={mode.value === 'wipe'} onClick={() => (mode.value = 'wipe')}>
            Wipe
          </button>
        </div>
      </div>
    </div>
  );
}

/** Return the numbers of the frames that two videos show, as the browser presents them. */
function useShownFrames(left: { current: HTMLVideoElement | null }, right: { current: HTMLVideoElement | null }, rate: number) {
  const [shown, setShown] = useState<{ left: number | null; right: number | null }>({ left: null, right: null });
  useEffect(() => {
    const stops = (['left', 'right'] as const).map((side) => {
      const video = (side === 'left' ? left : right).current;
      if (!video?.requestVideoFrameCallback) return () => undefined;
      let request = 0;
      const onFrame: VideoFrameRequestCallback = (_, { mediaTime }) => {
        // The time of a frame is its beginning; rounding keeps it from falling into the one before.
        setShown((before) => ({ ...before, [side]: Math.round(mediaTime * rate) }));
        request = video.requestVideoFrameCallback(onFrame);
      };
      request = video.requestVideoFrameCallback(onFrame);
      return () => video.cancelVideoFrameCallback(request);
    });
    return () => stops.forEach((stop) => stop());
  }, [rate]);
  return shown;
}

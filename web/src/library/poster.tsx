/** Pictures of videos, and what lists show of a video beyond its own fields. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { addressOf, api } from '../api/client';
import type { Video, VideoDetail, VideoVersion } from '../api/types';
import { Icon } from '../components/Icon';

/** Return the outputs of the stage that publishes a version. */
export function publishedOf(version: VideoVersion | undefined): { poster?: string | null; manifest?: string; master?: string; rungs?: string[]; duration?: number; scores?: Record<string, Record<string, number>>; degraded?: string[] } {
  const published = version?.outputs['publish'];
  return typeof published === 'object' && published !== null ? published : {};
}

/** Return the address of a file of a video, for the cookie of the session. */
export function fileOf(video: string | number, key: string): URL {
  const path = `/api/v1/videos/{id}/files/${key.split('/').map(encodeURIComponent).join('/')}`;
  return addressOf(path, { id: String(video) });
}

/** Return the address of a path that a document names: such paths start at the root of the server. */
export function pathAddress(path: string): URL {
  return addressOf(path.replace(/[{}]/g, encodeURIComponent));
}

export function posterOf(detail: VideoDetail | undefined, job?: number): URL | null {
  if (!detail) return null;
  const version = detail.versions.find((each) => (job === undefined ? each.current : each.job === job));
  const key = publishedOf(version).poster;
  return key && !version?.removed_at ? fileOf(detail.id, key) : null;
}

const known = new Map<string, VideoDetail>();
const MAX_KNOWN = 600;

/** Return the details of a video once it is seen; `key` names the state of the video that they belong to. */
export function useDetail(video: Video, isSeen: boolean): VideoDetail | undefined {
  const key = `${video.id}:${video.version}:${video.current}:${video.status}:${video.latest}`;
  const [, setCount] = useState(0);
  useEffect(() => {
    if (!isSeen || known.has(key)) return;
    const abort = new AbortController();
    api.get('/api/v1/videos/{video_id}', { path: { video_id: String(video.id) }, signal: abort.signal }).then(
      (detail) => {
        if (known.size >= MAX_KNOWN) known.clear();
        known.set(key, detail);
        setCount((count) => count + 1);
      },
      () => undefined,
    );
    return () => abort.abort();
  }, [key, isSeen]);
  return known.get(key);
}

/** Tell when an element comes near the visible part of the page. */
export function useSeen() {
  const place = useRef<HTMLElement>(null);
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    const element = place.current;
    if (!element || isSeen) return;
    const observer = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && setSeen(true), { rootMargin: '200px' });
    observer.observe(element);
    return () => observer.disconnect();
  }, [isSeen]);
  return { place, isSeen };
}

/** A poster, or a quiet place for it. Its place never changes its size. */
export function Poster({ src }: { src: URL | null }) {
  const [broken, setBroken] = useState<string | null>(null);
  return (
    <span class="poster">
      {src && broken !== src.href ? <img src={src.href} alt="" loading="lazy" decoding="async" onError={() => setBroken(src.href)} /> : <Icon name="videos" />}
    </span>
  );
}

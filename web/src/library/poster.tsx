/** Pictures and files of videos. */

import { useState } from 'preact/hooks';
import { addressOf } from '../api/client';
import type { VideoDetail, VideoVersion } from '../api/types';
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

/** A poster, or a quiet place for it. Its place never changes its size. */
export function Poster({ src }: { src: URL | null }) {
  const [broken, setBroken] = useState<string | null>(null);
  return (
    <span class="poster">
      {src && broken !== src.href ? <img src={src.href} alt="" loading="lazy" decoding="async" onError={() => setBroken(src.href)} /> : <Icon name="videos" />}
    </span>
  );
}

/** The library: every video with its poster, and the uploads of this tab. */

import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { api } from '../api/client';
import type { Video } from '../api/types';
import { Command } from '../components/Copy';
import { Icon } from '../components/Icon';
import { Progress } from '../components/Progress';
import { EmptyState, ErrorState } from '../components/States';
import { Status } from '../components/Status';
import { Time } from '../components/Time';
import { plural } from '../format';
import { useShortcuts } from '../keyboard';
import { playTime } from '../library/manifest';
import { fileOf, Poster } from '../library/poster';
import { Restore } from '../library/restore';
import { SubmitDialog } from '../library/Submit';
import { addFiles, restoreUploads, uploads } from '../library/uploads';
import { UploadList } from '../library/UploadList';
import { useResource } from '../live/resource';
import { hrefOf, navigate, query, setQuery } from '../router';
import type { PageProps } from '../routes';
import { may } from '../session';
import '../styles/videos.css';

const PAGE = 60;
const SEARCHED = 500;
const STATUSES = ['pending', 'processing', 'ready', 'failed'] as const;
type VideoStatus = (typeof STATUSES)[number];
/** What newer servers add to the items of the list. */

const isSubmitOpen = signal(false);

/** Return whether a video matches a search: every word is in its title, its source or its id. */
export function matchesSearch(video: { title: string; source: string; id: number; user_id: string }, text: string): boolean {
  const all = `${video.title} ${video.source} ${video.id} ${video.user_id}`.toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}

export default function Videos(_: PageProps) {
  const status = STATUSES.find((each) => each === query.value.get('status'));
  const text = query.value.get('q')?.trim() ?? '';
  const isDeleted = query.value.get('deleted') === '1';
  const [limit, setLimit] = useState(PAGE);
  const list = useResource(() => ({ load: (abort) => readVideos(status, text, isDeleted, limit, abort), matters: (batch) => batch.events.some((event) => event.kind === 'event' && event.entity === 'job'), every: 1500 }), [status, text, isDeleted, limit]);
  const shown = useRef<{ items: Video[]; isMore: boolean } | undefined>(undefined);
  if (list.value.value) shown.current = list.value.value;
  const found = list.value.value ?? (text ? undefined : shown.current);
  const canWrite = may('jobs:write');
  const drop = useDrop(canWrite);
  const [current, setCurrent] = useState(-1);
  const move = (step: number) => {
    const next = Math.max(0, Math.min((found?.items.length ?? 0) - 1, current + step));
    setCurrent(next);
    document.querySelectorAll<HTMLElement>('.video-title')[next]?.focus();
  };
  useEffect(() => {
    if (canWrite) void restoreUploads();
  }, [canWrite]);
  useEffect(() => setLimit(PAGE), [status, text, isDeleted]);
  useShortcuts(
    [
      { keys: 'j', label: 'Next video', run: () => move(1) },
      { keys: 'k', label: 'Previous video', run: () => move(-1) },
      ...(canWrite ? [{ keys: 'n', label: 'New video', run: () => (isSubmitOpen.value = true) }] : []),
    ],
    [current, found, canWrite],
  );
  const choose = (next: string | undefined, deleted = false) => hrefOf(['videos'], { status: next, q: text, deleted: deleted ? '1' : undefined });
  return (
    <div class="videos" data-drop={drop.isOver} {...drop.handlers}>
      <nav class="tabs" aria-label="Videos by status">
        <a class="tab" href={choose(undefined)} aria-current={!status && !isDeleted ? 'true' : undefined}>
          All
        </a>
        {STATUSES.map((each) => (
          <a key={each} class="tab" href={choose(each)} aria-current={status === each && !isDeleted ? 'true' : undefined}>
            {WORDS[each]}
          </a>
        ))}
        <a class="tab" href={choose(undefined, true)} aria-current={isDeleted ? 'true' : undefined}>
          Deleted
        </a>
      </nav>
      <div class="videos-bar">
        <label class="videos-search">
          <span class="visually-hidden">Search videos</span>
          <Icon name="search" />
          <input class="input" type="search" data-search placeholder="Search by title, source or id" value={text} onInput={(event) => setQuery({ q: event.currentTarget.value })} />
        </label>
        <span class="grow" />
        {canWrite && (
          <button type="button" class="button primary" onClick={() => (isSubmitOpen.value = true)}>
            <Icon name="plus" /> New video
          </button>
        )}
      </div>
      {uploads.value.length > 0 && <UploadList />}
      {list.error.value && !found ? (
        <ErrorState error={list.error.value} retry={() => list.reload()} />
      ) : !found ? (
        <div class="video-grid" role="status" aria-label="Loading">
          {Array.from({ length: 8 }, (_, index) => (
            <div key={index} class="video-card">
              <span class="poster" />
              <span class="skeleton" />
            </div>
          ))}
        </div>
      ) : found.items.length === 0 ? (
        <NoVideos isFiltered={Boolean(text || status)} isDeleted={isDeleted} canWrite={canWrite} />
      ) : (
        <>
          <div class="video-grid">
            {found.items.map((video) => (
              <Card key={video.id} video={video} />
            ))}
          </div>
          {found.isMore && (
            <div class="videos-more">
              <button type="button" class="button" onClick={() => setLimit(limit + PAGE)}>
                Show more
              </button>
            </div>
          )}
          <p class="muted small">{found.isMore ? `The newest ${plural(found.items.length, 'video')}` : plural(found.items.length, 'video')}</p>
        </>
      )}
      {drop.isOver && (
        <div class="videos-drop" aria-hidden="true">
          <Icon name="upload" /> Drop videos to upload them
        </div>
      )}
      {isSubmitOpen.value && <SubmitDialog onClose={() => (isSubmitOpen.value = false)} />}
    </div>
  );
}

const WORDS: Record<VideoStatus, string> = { pending: 'Pending', processing: 'Processing', ready: 'Ready', failed: 'Failed' };

async function readVideos(status: VideoStatus | undefined, text: string, isDeleted: boolean, limit: number, abort: AbortSignal): Promise<{ items: Video[]; isMore: boolean }> {
  const items: Video[] = [];
  let after: string | null = null;
  const most = text || isDeleted ? SEARCHED : limit;
  do {
    const asked = { ...(status ? { status: [status] } : {}), ...(text ? { q: text } : {}), deleted: isDeleted, limit: Math.min(most, SEARCHED), after };
    const page: { items: Video[]; after: string | null } = await api.get('/api/v1/videos', { query: asked, signal: abort });
    items.push(...page.items);
    after = page.after;
  } while (after && items.length < most);
  const kept = items.filter((video) => (isDeleted ? video.deleted_at !== null : video.deleted_at === null) && (!text || matchesSearch(video, text)));
  return { items: kept, isMore: after !== null && !text && !isDeleted };
}

function Card({ video }: { video: Video }) {
  const isRunning = video.status === 'processing' || video.status === 'pending';
  return (
    <article class="video-card" data-video={video.id} data-deleted={video.deleted_at !== null}>
      <Poster src={video.poster === null ? null : fileOf(video.id, video.poster)} />
      {video.duration !== null && <span class="video-length">{playTime(video.duration)}</span>}
      <a class="video-title truncate" href={hrefOf(['videos', String(video.id)])} title={video.title || video.source}>
        {video.title || nameOf(video.source)}
      </a>
      <span class="video-line">
        <Status status={video.deleted_at ? 'cancelled' : video.status === 'ready' ? 'completed' : video.status} label={video.deleted_at ? 'deleted' : WORDS[video.status].toLowerCase()} />
        <span class="grow" />
        <span class="muted small">
          <Time at={video.created_at} />
        </span>
      </span>
      <span class="video-line video-qualities">
        {video.deleted_at ? (
          <Restore video={video} />
        ) : isRunning ? (
          video.latest !== null && <CardProgress job={String(video.latest)} />
        ) : video.status === 'failed' ? (
          <span class="truncate small tone-failed">{messageOf(video.error)}</span>
        ) : (
          <>
            {video.rungs.slice(0, 4).map((each) => (
              <span key={each} class="tag">
                {each}
              </span>
            ))}
            {video.latest !== video.current && video.current !== null && video.error !== null && <span class="tag warn">the latest version failed</span>}
            {video.pinned !== null && <span class="tag">pinned</span>}
          </>
        )}
      </span>
    </article>
  );
}

function CardProgress({ job }: { job: string }) {
  const detail = useResource(() => ({ job, progress: true, load: (signal) => api.get('/api/v1/jobs/{job_id}', { path: { job_id: job }, signal }), matters: () => true, every: 1000 }), [job]);
  const value = detail.value.value?.progress ?? 0;
  return (
    <>
      <Progress value={value} label="Progress of the transcode" />
      <span class="small nowrap video-percent">{Math.floor(value)} %</span>
    </>
  );
}

export function nameOf(source: string): string {
  return source.split(/[/\\]/).at(-1) || source;
}

/** Return the message of an error document: that of its cause, where it has one. */
export function messageOf(error: unknown): string {
  if (typeof error === 'string') return error;
  if (typeof error !== 'object' || error === null) return 'it failed';
  const { cause, message } = error as { cause?: unknown; message?: unknown };
  return cause ? messageOf(cause) : typeof message === 'string' ? message : 'it failed';
}

function NoVideos({ isFiltered, isDeleted, canWrite }: { isFiltered: boolean; isDeleted: boolean; canWrite: boolean }) {
  if (isDeleted) {
    return (
      <EmptyState icon="trash" title="No deleted videos">
        <p>A video that you delete is listed here as long as it is recorded.</p>
      </EmptyState>
    );
  }
  if (isFiltered) {
    return (
      <EmptyState icon="filter" title="No video matches">
        <button type="button" class="button" onClick={() => navigate(hrefOf(['videos']))}>
          Show all videos
        </button>
      </EmptyState>
    );
  }
  return (
    <EmptyState icon="videos" title="No videos yet">
      {canWrite ? (
        <>
          <p>Drop a file on this page, or name a source. It can be watched as soon as its first chunk is encoded.</p>
          <button type="button" class="button primary" onClick={() => (isSubmitOpen.value = true)}>
            <Icon name="upload" /> Upload a video
          </button>
          <Command text="reel submit transcode movie.mp4" />
        </>
      ) : (
        <p>Your key may not create videos: it needs the scope jobs:write.</p>
      )}
    </EmptyState>
  );
}

/** Take files that are dropped on the page. */
function useDrop(isPermitted: boolean) {
  const [depth, setDepth] = useState(0);
  const hasFiles = (event: DragEvent) => isPermitted && (event.dataTransfer?.types.includes('Files') ?? false);
  return {
    isOver: depth > 0,
    handlers: {
      onDragEnter: (event: DragEvent) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        setDepth((count) => count + 1);
      },
      onDragOver: (event: DragEvent) => {
        if (hasFiles(event)) event.preventDefault();
      },
      onDragLeave: (event: DragEvent) => {
        if (hasFiles(event)) setDepth((count) => Math.max(0, count - 1));
      },
      onDrop: (event: DragEvent) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        setDepth(0);
        addFiles(event.dataTransfer?.files ?? [], '');
      },
    },
  };
}

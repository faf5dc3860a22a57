/** One video: its player, its versions and what they weigh, and a comparison of two of them. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { addressOf, api, send } from '../api/client';
import type { Quality, VideoDetail, VideoVersion } from '../api/types';
import { confirm } from '../components/Confirm';
import { Icon } from '../components/Icon';
import { Menu } from '../components/Menu';
import { Panel } from '../components/Panel';
import { Progress } from '../components/Progress';
import { EmptyState, ErrorState, Skeleton } from '../components/States';
import { Status } from '../components/Status';
import { Elapsed, Time } from '../components/Time';
import { toast } from '../components/Toast';
import { bitrate, bytes, number, percent } from '../format';
import { AddressDialog } from '../library/Address';
import { Compare, type Side } from '../library/Compare';
import { codecName, playTime, readManifest, type TrackSize, type VersionSizes } from '../library/manifest';
import { Player } from '../library/Player';
import { fileOf, pathAddress, posterOf, publishedOf } from '../library/poster';
import { restoreVideo } from '../library/restore';
import { RetranscodeDialog } from '../library/Retranscode';
import { useResource, type Resource } from '../live/resource';
import { hrefOf, navigate, query, setQuery } from '../router';
import type { PageProps } from '../routes';
import { useTitle } from '../Shell';
import { may } from '../session';
import { isActive } from '../status';
import '../styles/videos.css';
import '../styles/video.css';
import { messageOf, nameOf } from './Videos';

export default function VideoPage({ params }: PageProps) {
  const id = params['id'] ?? '';
  const resource: Resource<VideoDetail> = useResource(() => ({ progress: true, load: (signal) => api.get('/api/v1/videos/{video_id}', { path: { video_id: id }, signal }), matters: (batch) => concerns(batch, resource.value.peek()), every: 1000 }), [id]);
  const video = resource.value.value;
  useTitle(video ? video.title || nameOf(video.source) : null);
  if (!video) return resource.error.value ? <ErrorState error={resource.error.value} retry={() => resource.reload()} /> : <Skeleton lines={8} />;
  return <Shown video={video} reload={() => void resource.reload()} />;
}

function concerns(batch: { events: readonly { kind: string }[]; progress: readonly { job: number }[] }, video: VideoDetail | undefined): boolean {
  const jobs = new Set(video?.versions.map((version) => version.job));
  return (
    batch.progress.some((each) => jobs.has(each.job)) ||
    batch.events.some((event) => event.kind === 'event' && 'job' in event && typeof event.job === 'number' && (jobs.has(event.job) || ('entity' in event && event.entity === 'job')))
  );
}

function Shown({ video, reload }: { video: VideoDetail; reload: () => void }) {
  const [dialog, setDialog] = useState<'retranscode' | 'address' | null>(null);
  const id = String(video.id);
  const wanted = query.value.get('version');
  const version = video.versions.find((each) => String(each.job) === wanted && each.plays !== null);
  const pair = (query.value.get('compare') ?? '').split(',');
  const sides = pair.map((job) => video.versions.find((each) => String(each.job) === job && each.plays !== null)).filter((each) => each !== undefined);
  const playable = video.versions.filter((each) => each.plays !== null);
  const canWrite = may('jobs:write') && video.deleted_at === null;
  const current = video.versions.find((each) => each.current);
  const remove = () =>
    confirm({
      title: 'Delete this video?',
      body: <p>It leaves the library, its address stops playing, and its jobs are cancelled. Its files are kept for a while.</p>,
      action: 'Delete',
      isDangerous: true,
      reason: 'optional',
      run: async (reason) => {
        await api.delete('/api/v1/videos/{video_id}', { path: { video_id: id }, query: { reason } });
        toast(`“${video.title || nameOf(video.source)}” is deleted`, 'done', { seconds: 15, action: { label: 'Undo', run: () => void restoreVideo(id).then(() => navigate(hrefOf(['videos', id]))) } });
        navigate(hrefOf(['videos']));
      },
    });
  return (
    <div class="video">
      {video.deleted_at !== null && (
        <div class="notice warn">
          <strong>
            This video was deleted <Time at={video.deleted_at} />
          </strong>
          <span class="muted">
            by {video.actor}
            {video.reason && `: ${video.reason}`}
          </span>
          {may('jobs:write') && (
            <div>
              <button type="button" class="button small" onClick={() => void restoreVideo(id).then(reload)}>
                <Icon name="retry" /> Restore
              </button>
            </div>
          )}
        </div>
      )}
      <div class="video-head">
        <Status status={video.status === 'ready' ? 'completed' : video.status} label={video.status} />
        {video.duration !== null && <span>{playTime(video.duration)}</span>}
        <span class="muted truncate" title={video.source}>
          {video.source}
        </span>
        <span class="grow" />
        {video.plays !== null && (
          <button type="button" class="button" onClick={() => setDialog('address')}>
            <Icon name="copy" /> Copy address
          </button>
        )}
        {playable.length > 1 && (
          <button type="button" class="button" aria-pressed={sides.length === 2} onClick={() => setQuery({ compare: sides.length === 2 ? undefined : `${playable[1]?.job},${playable[0]?.job}` }, { push: true })}>
            <Icon name="columns" /> {sides.length === 2 ? 'End comparison' : 'Compare'}
          </button>
        )}
        {canWrite && (
          <>
            <button type="button" class="button" onClick={() => setDialog('retranscode')}>
              <Icon name="retry" /> Retranscode
            </button>
            <Menu name="More actions" label={<Icon name="more" />} buttonClass="button icon">
              {current && playable.length > 1 && (
                <button type="button" class="menu-item" onClick={() => rollback(video, reload)}>
                  Roll back to the previous version …
                </button>
              )}
              {video.pinned !== null && (
                <button type="button" class="menu-item" onClick={() => unpin(video, reload)}>
                  Unpin: play the newest version
                </button>
              )}
              <button type="button" class="menu-item danger" onClick={remove}>
                <Icon name="trash" /> Delete the video …
              </button>
            </Menu>
          </>
        )}
      </div>
      {sides.length === 2 && sides[0] && sides[1] ? (
        <Comparison video={video} left={sides[0]} right={sides[1]} />
      ) : (
        <div class="video-main">
          <Screen video={video} version={version} />
          <Rungs video={video} />
        </div>
      )}
      <Versions video={video} reload={reload} playing={version?.job ?? null} />
      {dialog === 'retranscode' && <RetranscodeDialog video={video} onClose={() => setDialog(null)} />}
      {dialog === 'address' && <AddressDialog video={video} version={version} onClose={() => setDialog(null)} />}
    </div>
  );
}

/** The player; before the first chunk is there, what is missing for it. */
function Screen({ video, version }: { video: VideoDetail; version: VideoVersion | undefined }) {
  const path = version?.plays ?? video.plays;
  const source = path === null ? null : pathAddress(path).href;
  // A version in progress can be read from its first segments on. What once played stays.
  const started = useRef(false);
  started.current ||= version !== undefined || video.viewable;
  // A stream that began while it was encoded goes on playing when the job completes: it is not loaded anew.
  const key = `${video.id}:${version?.job ?? 'current'}`;
  const label = video.title || nameOf(video.source);
  if (source && started.current) return <Player key={key} source={source} poster={posterOf(video, version?.job)?.href ?? null} title={label} />;
  const failed = video.status === 'failed';
  return (
    <div class="player">
      <div class="player-empty">
        {failed ? (
          <>
            <Icon name="warning" />
            <strong>{messageOf(video.error)}</strong>
            {video.latest !== null && (
              <a class="button" href={hrefOf(['jobs', String(video.latest)])}>
                See what failed
              </a>
            )}
          </>
        ) : video.deleted_at !== null ? (
          <>
            <Icon name="trash" />
            <span>A deleted video does not play.</span>
          </>
        ) : (
          <>
            <Icon name="play" />
            <strong>{video.status === 'pending' ? 'Waiting for a worker' : 'Encoding'}</strong>
            <span>It plays here as soon as the audio and the first chunk are done.</span>
            {video.progress !== null && <Progress value={video.progress} label="Progress of the transcode" />}
          </>
        )}
      </div>
    </div>
  );
}

const QUALITY_STATUS: Record<string, string> = { completed: 'completed', skipped: 'skipped', failed: 'failed', processing: 'running', pending: 'pending' };

function Rungs({ video }: { video: VideoDetail }) {
  const isRunning = video.versions.some((version) => isActive(version.status));
  return (
    <Panel title="Qualities" isFlush class="video-rungs">
      {video.qualities.length === 0 ? (
        <p class="panel-body muted">The plan of the transcode decides them.</p>
      ) : (
        <ul>
          {video.qualities.map((each) => (
            <Rung key={each.quality} quality={each} isRunning={isRunning} />
          ))}
        </ul>
      )}
      <dl class="facts panel-body">
        <dt>Created</dt>
        <dd>
          <Time at={video.created_at} />
        </dd>
        {video.user_id && (
          <>
            <dt>User</dt>
            <dd>{video.user_id}</dd>
          </>
        )}
        <dt>Plays</dt>
        <dd>{video.current === null ? (video.status === 'processing' ? 'what is encoded so far' : 'nothing yet') : video.pinned !== null ? 'a pinned version' : 'the newest version'}</dd>
        <dt>Id</dt>
        <dd class="mono">{String(video.id)}</dd>
      </dl>
    </Panel>
  );
}

function Rung({ quality, isRunning }: { quality: Quality; isRunning: boolean }) {
  return (
    <li class="rung" title={quality.error_message ?? undefined}>
      <Status status={QUALITY_STATUS[quality.status] ?? 'pending'} label={quality.quality} />
      <span class="rung-state muted small truncate">
        {quality.status === 'skipped'
          ? 'larger than the source'
          : quality.status === 'failed'
            ? (quality.error_message ?? 'failed')
            : quality.reused_from !== null
              ? 'reused'
              : `${number(quality.segments_completed)} of ${number(quality.segments_total)} segments`}
      </span>
      {isRunning && quality.status !== 'skipped' && <Progress value={quality.progress_percent} status={QUALITY_STATUS[quality.status] ?? 'pending'} label={`Progress of ${quality.quality}`} />}
    </li>
  );
}

function Versions({ video, reload, playing }: { video: VideoDetail; reload: () => void; playing: number | null }) {
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set(video.current === null ? [] : [video.current]));
  const canWrite = may('jobs:write') && video.deleted_at === null;
  const compared = (query.value.get('compare') ?? '').split(',').filter(Boolean);
  const toggle = (job: number) => {
    const next = new Set(open);
    if (!next.delete(job)) next.add(job);
    setOpen(next);
  };
  if (!video.versions.length) {
    return (
      <EmptyState icon="videos" title="No versions">
        <p>They were removed with their jobs.</p>
      </EmptyState>
    );
  }
  return (
    <Panel title="Versions" isFlush>
      {video.versions.map((version) => {
        const job = String(version.job);
        const isOpen = open.has(version.job);
        return (
          <section key={job} class="version" data-version={job} data-playing={version.current}>
            <div class="version-head">
              <button type="button" class="button quiet icon small" aria-expanded={isOpen} aria-label={`Sizes of version ${job}`} disabled={version.plays === null} onClick={() => toggle(version.job)}>
                <Icon name={isOpen ? 'down' : 'right'} />
              </button>
              <Status status={version.status} />
              <a class="mono" href={hrefOf(['jobs', job])} title="Its job">
                {job}
              </a>
              {version.current && <span class="tag accent">plays</span>}
              {video.pinned === version.job && <span class="tag">pinned</span>}
              {version.degraded !== null && <span class="tag warn">degraded</span>}
              {version.removed_at !== null && <span class="tag">files removed</span>}
              {publishedOf(version).rungs?.map((rung) => (
                <span key={rung} class="tag">
                  {rung}
                </span>
              ))}
              {version.error !== null && <span class="tone-failed truncate">{messageOf(version.error)}</span>}
              <span class="grow" />
              <span class="muted small nowrap">
                <Time at={version.created_at} />
                {version.started_at && (
                  <>
                    , {version.finished_at ? 'took' : 'running for'} <Elapsed from={version.started_at} to={version.finished_at} />
                  </>
                )}
              </span>
              <span class="version-actions">
                {version.plays !== null && (
                  <button type="button" class="button small" aria-pressed={playing === version.job} onClick={() => setQuery({ version: playing === version.job ? undefined : job, compare: undefined }, { push: true })}>
                    <Icon name="play" /> {playing === version.job ? 'Playing' : 'Play'}
                  </button>
                )}
                {version.plays !== null && video.versions.filter((each) => each.plays !== null).length > 2 && (
                  <label class="row small">
                    <input
                      type="checkbox"
                      checked={compared.includes(job)}
                      onChange={() => {
                        const rest = compared.filter((each) => each !== job);
                        setQuery({ compare: (compared.includes(job) ? rest : [...rest, job].slice(-2)).join(',') || undefined });
                      }}
                    />
                    compare
                  </label>
                )}
                {canWrite && version.status === 'completed' && version.removed_at === null && (!version.current || video.pinned === null) && (
                  <button type="button" class="button small" onClick={() => pin(video, job, version.current, reload)}>
                    {version.current ? 'Pin' : 'Use this version'}
                  </button>
                )}
              </span>
            </div>
            {isOpen && version.plays !== null && <Sizes video={String(video.id)} version={version} />}
          </section>
        );
      })}
    </Panel>
  );
}

function pin(video: VideoDetail, job: string, isCurrent: boolean, reload: () => void): void {
  confirm({
    title: isCurrent ? 'Pin this version?' : 'Play this version?',
    body: <p>Viewers get this version until it is unpinned, also when a newer one completes.</p>,
    action: isCurrent ? 'Pin' : 'Use this version',
    reason: 'optional',
    run: async (reason) => {
      // Ids are exact in JSON: they are below 2 to the power of 53.
      await api.post('/api/v1/videos/{video_id}/pin', { path: { video_id: String(video.id) }, body: { job: Number(job), reason } });
      toast('The version is pinned');
      reload();
    },
  });
}

function unpin(video: VideoDetail, reload: () => void): void {
  confirm({
    title: 'Unpin the video?',
    body: <p>Its newest completed version plays again.</p>,
    action: 'Unpin',
    reason: 'optional',
    run: async (reason) => {
      await api.post('/api/v1/videos/{video_id}/unpin', { path: { video_id: String(video.id) }, body: { reason } });
      toast('The newest version plays');
      reload();
    },
  });
}

function rollback(video: VideoDetail, reload: () => void): void {
  confirm({
    title: 'Roll back?',
    body: <p>The version before the current one plays and is pinned. The current one is kept: you can return to it.</p>,
    action: 'Roll back',
    reason: 'optional',
    run: async (reason) => {
      await api.post('/api/v1/videos/{video_id}/rollback', { path: { video_id: String(video.id) }, body: { reason } });
      toast('The previous version plays');
      reload();
    },
  });
}

const sizes = new Map<string, Promise<VersionSizes>>();

/** Read the manifest of a version; versions never change, so it is read once. */
export function sizesOf(video: string, version: VideoVersion): Promise<VersionSizes> {
  const { manifest, master } = publishedOf(version);
  const key = String(version.job);
  let found = sizes.get(key);
  if (!found) {
    if (!manifest) return Promise.reject(new Error('the version has no manifest'));
    found = Promise.all([
      send('get', fileOf(video, manifest)),
      master ? fetch(fileOf(video, master)).then((response) => (response.ok ? response.text() : '')) : '',
    ]).then(([document, playlist]) => readManifest(document, playlist));
    sizes.set(key, found);
    found.catch(() => sizes.delete(key));
  }
  return found;
}

function useSizes(video: string, version: VideoVersion): { found: VersionSizes | null; error: string } {
  const [found, setFound] = useState<VersionSizes | null>(null);
  const [error, setError] = useState('');
  useEffect(() => {
    let isGone = false;
    sizesOf(video, version).then(
      (value) => !isGone && setFound(value),
      (refused) => !isGone && setError(refused instanceof Error ? refused.message : String(refused)),
    );
    return () => {
      isGone = true;
    };
  }, [video, version.job]);
  return { found, error };
}

function Sizes({ video, version }: { video: string; version: VideoVersion }) {
  const { found, error } = useSizes(video, version);
  if (error) return <p class="panel-body muted">Its sizes cannot be read: {error}</p>;
  if (!found) return <div class="panel-body"><Skeleton lines={3} /></div>;
  const scores = publishedOf(version).scores ?? {};
  const measures = [...new Set(Object.values(scores).flatMap((each) => Object.keys(each)))];
  const largest = Math.max(1, ...found.tracks.map((track) => track.bytes));
  return (
    <div class="table-scroll">
      <table class="table sizes">
        <thead>
          <tr>
            <th>Track</th>
            <th>Codec</th>
            <th class="number">Picture</th>
            <th class="number">Average</th>
            <th class="number">Peak segment</th>
            {measures.map((each) => (
              <th key={each} class="number">
                {each.toUpperCase()}
              </th>
            ))}
            <th class="number">Size</th>
            <th aria-label="Share" />
          </tr>
        </thead>
        <tbody>
          {found.tracks.map((track) => (
            <tr key={`${track.kind}/${track.name}`}>
              <td>{TRACK_WORDS[track.kind](track)}</td>
              <td class="muted">{codecName(track.codecs)}</td>
              <td class="number">{track.width ? `${track.width}×${track.height}` : ''}</td>
              <td class="number">{track.average === null ? '' : bitrate(track.average)}</td>
              <td class="number">{track.peak === null ? '' : bitrate(track.peak)}</td>
              {measures.map((each) => (
                <td key={each} class="number">
                  {scores[track.name]?.[each]?.toFixed(each === 'ssim' ? 4 : 1) ?? ''}
                </td>
              ))}
              <td class="number">{bytes(track.bytes)}</td>
              <td class="sizes-share">
                <Progress value={(track.bytes / largest) * 100} status={track.kind === 'video' ? 'running' : 'pending'} label={`Share of ${track.name}: ${percent((track.bytes / found.bytes) * 100)}`} />
              </td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <td colSpan={5 + measures.length} class="muted">
              {number(found.frames)} frames at {Number(found.rate.toFixed(3))} a second, {playTime(found.duration)}
            </td>
            <td class="number">
              <strong>{bytes(found.bytes)}</strong>
            </td>
            <td />
          </tr>
        </tfoot>
      </table>
    </div>
  );
}

const TRACK_WORDS: Record<TrackSize['kind'], (track: TrackSize) => string> = {
  video: (track) => track.name,
  audio: (track) => `audio ${Number(track.name) + 1 || track.name}`,
  captions: (track) => track.name.replace(/^captions-(\d+)$/, (_, index: string) => `captions ${Number(index) + 1}`),
  pictures: (track) => track.name,
};

function Comparison({ video, left, right }: { video: VideoDetail; left: VideoVersion; right: VideoVersion }) {
  const id = String(video.id);
  const one = useSizes(id, left);
  const two = useSizes(id, right);
  const side = (version: VideoVersion): Side => ({ job: String(version.job), label: labelOf(video, version), source: addressOf(version.plays ?? '').href });
  if (one.error || two.error) return <div class="notice error">The versions cannot be compared: {one.error || two.error}</div>;
  if (!one.found || !two.found) return <Skeleton lines={6} />;
  return (
    <>
      {one.found.rate !== two.found.rate && (
        <div class="notice warn">
          The versions have different frame rates, {one.found.rate.toFixed(3)} and {two.found.rate.toFixed(3)}: they are compared at the same time.
        </div>
      )}
      <Compare key={`${left.job},${right.job}`} left={side(left)} right={side(right)} rate={one.found.rate} frames={Math.min(one.found.frames, two.found.frames)} />
    </>
  );
}

function labelOf(video: VideoDetail, version: VideoVersion): string {
  const position = video.versions.length - video.versions.indexOf(version);
  return `Version ${position}${version.current ? ' (plays)' : ''}`;
}

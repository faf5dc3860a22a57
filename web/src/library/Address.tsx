import { useState } from 'preact/hooks';
import { api } from '../api/client';
import type { VideoDetail, VideoVersion } from '../api/types';
import { Command } from '../components/Copy';
import { Field, FormDialog } from '../components/Field';
import { exactTime } from '../format';

const LIFETIMES = [
  { label: '1 hour', seconds: 3600 },
  { label: '1 day', seconds: 86_400 },
  { label: '7 days', seconds: 604_800 },
];

/** An address that any player can use for a while, without a key. */
export function AddressDialog({ video, version, onClose }: { video: VideoDetail; version: VideoVersion | undefined; onClose: () => void }) {
  const [lifetime, setLifetime] = useState(LIFETIMES[0]?.seconds ?? 3600);
  const [made, setMade] = useState<{ url: string; dash: string; expires_at: string } | null>(null);
  const submit = async () => {
    if (made) return onClose();
    setMade(await api.post('/api/v1/videos/{video_id}/playback', { path: { video_id: String(video.id) }, body: { lifetime, version: version?.job ?? null } }));
  };
  return (
    <FormDialog title="Playback address" action={made ? 'Done' : 'Create the address'} onClose={onClose} submit={submit} isWide>
      <p class="muted">
        Any player can use the address without a key: VLC, ffplay, Safari, a page with hls.js. Who has it can watch this video and nothing else, until it expires.
      </p>
      {made ? (
        <>
          <div class="field">
            <span>HLS</span>
            <Command text={made.url} />
          </div>
          {video.current !== null && (
            <div class="field">
              <span>DASH</span>
              <Command text={made.dash} />
            </div>
          )}
          <p class="muted small">It expires {exactTime(made.expires_at)}.</p>
        </>
      ) : (
        <Field label="Valid for">
          <select class="select" value={String(lifetime)} onChange={(event) => setLifetime(Number(event.currentTarget.value))}>
            {LIFETIMES.map((each) => (
              <option key={each.seconds} value={String(each.seconds)}>
                {each.label}
              </option>
            ))}
          </select>
        </Field>
      )}
    </FormDialog>
  );
}

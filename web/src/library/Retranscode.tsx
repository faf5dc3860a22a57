import { useRef, useState } from 'preact/hooks';
import { api } from '../api/client';
import type { VideoDetail } from '../api/types';
import { Field, FormDialog } from '../components/Field';
import { toast } from '../components/Toast';
import { hrefOf, navigate } from '../router';
import { PROFILES } from './Submit';

/** A further version: all qualities, or some of them with the others reused. */
export function RetranscodeDialog({ video, onClose }: { video: VideoDetail; onClose: () => void }) {
  const names = video.qualities.filter((each) => each.status !== 'skipped').map((each) => each.quality);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set(names));
  const [profile, setProfile] = useState('');
  const [captions, setCaptions] = useState('');
  const [priority, setPriority] = useState('normal');
  const key = useRef(crypto.getRandomValues(new Uint32Array(4)).join('-'));
  const isAll = profile !== '' || chosen.size === names.length;
  const submit = async () => {
    const body = {
      priority: priority as 'normal',
      ...(isAll ? {} : { qualities: [...chosen] }),
      ...(profile ? { profile } : {}),
      ...(captions ? { captions: captions as 'keep' } : {}),
    };
    const made = await api.post('/api/v1/videos/{video_id}/retranscode', { path: { video_id: String(video.id) }, body, headers: { 'idempotency-key': key.current } });
    onClose();
    const job = String(made.job);
    toast('A new version is being made', 'done', { action: { label: 'Open its job', run: () => navigate(hrefOf(['jobs', job])) } });
  };
  return (
    <FormDialog title="Retranscode" action={isAll ? 'Make a new version' : `Encode ${[...chosen].join(', ')} again`} onClose={onClose} submit={submit} isReady={isAll || chosen.size > 0}>
      <p class="muted">The present version plays until the new one is complete. You can compare the two, and roll back.</p>
      <Field label="Profile">
        <select class="select" value={profile} onChange={(event) => setProfile(event.currentTarget.value)}>
          <option value="">as before</option>
          {PROFILES.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </Field>
      {!profile && names.length > 1 && (
        <fieldset class="checks">
          <legend>Qualities</legend>
          {names.map((each) => (
            <label key={each} class="row">
              <input
                type="checkbox"
                checked={chosen.has(each)}
                onChange={() => {
                  const next = new Set(chosen);
                  if (!next.delete(each)) next.add(each);
                  setChosen(next);
                }}
              />
              {each}
            </label>
          ))}
          <span class="field-hint">Those that you leave out are reused as they are.</span>
        </fieldset>
      )}
      <div class="row wrap">
        <Field label="Captions">
          <select class="select" value={captions} onChange={(event) => setCaptions(event.currentTarget.value)}>
            <option value="">as before</option>
            <option value="keep">include them</option>
            <option value="drop">leave them out</option>
          </select>
        </Field>
        <Field label="Priority">
          <select class="select" value={priority} onChange={(event) => setPriority(event.currentTarget.value)}>
            {['low', 'normal', 'high', 'critical'].map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </Field>
      </div>
    </FormDialog>
  );
}

import { useRef, useState } from 'preact/hooks';
import { api } from '../api/client';
import { Field, FormDialog } from '../components/Field';
import { Icon } from '../components/Icon';
import { toast } from '../components/Toast';
import { bytes, plural } from '../format';
import { hrefOf, navigate } from '../router';
import { isAdmin } from '../session';
import { addFiles } from './uploads';

export const PROFILES = ['h264', 'hevc', 'av1', 'fast', 'small'] as const;
const PRIORITIES = ['low', 'normal', 'high', 'critical'] as const;
type Priority = (typeof PRIORITIES)[number];

/** A new video: of files, or of a source that the workers fetch. */
export function SubmitDialog({ onClose }: { onClose: () => void }) {
  const [files, setFiles] = useState<File[]>([]);
  const [source, setSource] = useState('');
  const [title, setTitle] = useState('');
  const [profile, setProfile] = useState('');
  const [priority, setPriority] = useState<Priority>('normal');
  const chooser = useRef<HTMLInputElement>(null);
  const key = useRef(crypto.getRandomValues(new Uint32Array(4)).join('-'));
  const submit = async () => {
    if (files.length) {
      addFiles(files, profile);
      onClose();
      return;
    }
    const body = { source: source.trim(), title: title.trim(), priority, delay: 0, ...(profile ? { profile } : {}) };
    const made = await api.post('/api/v1/videos', { body, headers: { 'idempotency-key': key.current } });
    onClose();
    toast('The transcode has started');
    navigate(hrefOf(['videos', String(made.id)]));
  };
  const total = files.reduce((sum, file) => sum + file.size, 0);
  return (
    <FormDialog title="New video" action={files.length ? `Upload ${plural(files.length, 'file')}` : 'Submit'} onClose={onClose} submit={submit} isReady={files.length > 0 || source.trim() !== ''}>
      <input ref={chooser} type="file" multiple accept="video/*,.mkv,.ts,.mov,.flv,.avi" hidden onChange={(event) => setFiles([...(event.currentTarget.files ?? [])])} />
      <button
        type="button"
        class="drop-place"
        onClick={() => chooser.current?.click()}
        onDragOver={(event) => event.preventDefault()}
        onDrop={(event) => {
          event.preventDefault();
          event.stopPropagation();
          setFiles([...(event.dataTransfer?.files ?? [])]);
        }}
      >
        <Icon name="upload" />
        {files.length ? (
          <span>
            {files.length === 1 ? files[0]?.name : plural(files.length, 'file')}, {bytes(total)}
          </span>
        ) : (
          <span>Choose files, or drop them here</span>
        )}
        <span class="muted small">An interrupted upload goes on where it stopped.</span>
      </button>
      {!files.length && (
        <>
          <Field label="Or a source" hint={isAdmin.value ? 'https://…, s3://…, gs://…, or a path that the workers can read' : 'https://…'}>
            <input class="input mono" name="source" value={source} placeholder="https://example.com/movie.mov" onInput={(event) => setSource(event.currentTarget.value)} />
          </Field>
          <Field label="Title" hint="Without a title the name of the file is shown.">
            <input class="input" name="title" value={title} maxLength={1000} onInput={(event) => setTitle(event.currentTarget.value)} />
          </Field>
        </>
      )}
      <div class="row wrap">
        <Field label="Profile">
          <select class="select" name="profile" value={profile} onChange={(event) => setProfile(event.currentTarget.value)}>
            <option value="">default</option>
            {PROFILES.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </Field>
        {!files.length && (
          <Field label="Priority">
            <select class="select" value={priority} onChange={(event) => setPriority(event.currentTarget.value as Priority)}>
              {PRIORITIES.map((each) => (
                <option key={each}>{each}</option>
              ))}
            </select>
          </Field>
        )}
      </div>
    </FormDialog>
  );
}

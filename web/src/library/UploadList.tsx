import { useRef } from 'preact/hooks';
import { Icon } from '../components/Icon';
import { Panel } from '../components/Panel';
import { Progress } from '../components/Progress';
import { toastError } from '../components/Toast';
import { bytes, duration, percent, plural } from '../format';
import { hrefOf } from '../router';
import { addFiles, discard, dismiss, pause, resume, uploads, type Upload } from './uploads';

const WORDS: Record<Upload['state'], string> = {
  waiting: 'waits for the others',
  sending: '',
  paused: 'paused',
  retrying: 'no connection, trying again',
  creating: 'checking the file and starting the transcode',
  done: 'uploaded',
  failed: 'failed',
  'needs file': 'unfinished',
};
const TONES: Record<Upload['state'], string> = { waiting: 'pending', sending: 'running', paused: 'cancelled', retrying: 'retrying', creating: 'running', done: 'done', failed: 'failed', 'needs file': 'cancelled' };

export function UploadList() {
  const list = uploads.value;
  const chooser = useRef<HTMLInputElement>(null);
  const waiting = list.filter((each) => each.state === 'needs file').length;
  return (
    <Panel title={plural(list.length, 'upload')} isFlush class="uploads">
      <input ref={chooser} type="file" multiple hidden onChange={(event) => addFiles(event.currentTarget.files ?? [], '')} />
      {waiting > 0 && (
        <p class="uploads-hint">
          {waiting === 1 ? 'One upload was' : `${waiting} uploads were`} interrupted. Browsers do not keep files, so choose or drop the same {waiting === 1 ? 'file' : 'files'} again: sending goes on where it stopped.{' '}
          <button type="button" class="link-button" onClick={() => chooser.current?.click()}>
            Choose files
          </button>
        </p>
      )}
      <ul aria-live="off">
        {list.map((upload) => (
          <Row key={upload.key} upload={upload} choose={() => chooser.current?.click()} />
        ))}
      </ul>
    </Panel>
  );
}

function Row({ upload, choose }: { upload: Upload; choose: () => void }) {
  const part = upload.size ? (upload.received / upload.size) * 100 : 0;
  const left = upload.speed > 0 ? (upload.size - upload.received) / upload.speed : null;
  const isActive = upload.state === 'sending' || upload.state === 'retrying' || upload.state === 'waiting';
  return (
    <li class="upload" data-upload={upload.state}>
      <span class="truncate upload-name" title={upload.name}>
        {upload.video ? <a href={hrefOf(['videos', upload.video])}>{upload.title}</a> : upload.name}
      </span>
      <span class="muted small upload-facts">
        {percent(part)} of {bytes(upload.size)}
        {upload.state === 'sending' && upload.speed > 0 && `, ${bytes(upload.speed)}/s`}
        {upload.state === 'sending' && left !== null && left > 1 && `, ${duration(left)} left`}
        {WORDS[upload.state] && `, ${WORDS[upload.state]}`}
      </span>
      <span class="upload-actions">
        {isActive && (
          <button type="button" class="button quiet icon small" aria-label={`Pause ${upload.name}`} title="Pause" onClick={() => pause(upload.key)}>
            <Icon name="pauses" />
          </button>
        )}
        {(upload.state === 'paused' || upload.state === 'failed') && (
          <button type="button" class="button quiet icon small" aria-label={`Resume ${upload.name}`} title="Resume" onClick={() => resume(upload.key)}>
            <Icon name="play" />
          </button>
        )}
        {upload.state === 'needs file' && (
          <button type="button" class="button small" onClick={choose}>
            Choose the file
          </button>
        )}
        {upload.state === 'done' ? (
          <button type="button" class="button quiet icon small" aria-label="Dismiss" onClick={() => dismiss(upload.key)}>
            <Icon name="close" />
          </button>
        ) : (
          upload.state !== 'creating' && (
            <button type="button" class="button quiet icon small" aria-label={`Discard ${upload.name}`} title="Discard" onClick={() => discard(upload.key).catch(toastError)}>
              <Icon name="trash" />
            </button>
          )
        )}
      </span>
      <span class="upload-bar">
        <Progress value={part} status={TONES[upload.state]} label={`Upload of ${upload.name}`} />
      </span>
      {upload.error && (
        <span class="small tone-failed upload-error">
          {upload.error}
          {upload.hint && <span class="muted">: {upload.hint}</span>}
        </span>
      )}
    </li>
  );
}

import { useRef, useState } from 'preact/hooks';
import { api } from '../../api/client';
import type { Pipeline } from '../../api/types';
import { Field, FormDialog } from '../../components/Field';
import { toast } from '../../components/Toast';
import { shortDigest } from '../../format';
import { hrefOf, navigate } from '../../router';
import { SpecForm, useSpec } from './SpecForm';

/** Submit a job of a pipeline. The server checks the spec by the same schema. */
export function SubmitJob({ pipeline, onClose }: { pipeline: Pipeline; onClose: () => void }) {
  const spec = useSpec(pipeline.spec, {});
  const [priority, setPriority] = useState('normal');
  const [delay, setDelay] = useState('');
  const key = useRef(crypto.getRandomValues(new Uint32Array(4)).join('-'));
  const submit = async () => {
    const made = await api.post('/api/v1/jobs', {
      body: { pipeline: pipeline.name, ...(pipeline.current ? {} : { digest: pipeline.digest }), spec: spec.value(), priority: priority as 'normal', delay: Number(delay) || 0, after_failure: 'wait' },
      headers: { 'idempotency-key': key.current },
    });
    onClose();
    toast('The job is submitted');
    navigate(hrefOf(['jobs', String(made.id)]));
  };
  return (
    <FormDialog title={`Submit a job of ${pipeline.name}`} action="Submit" onClose={onClose} submit={submit} isReady={spec.isReady}>
      {!pipeline.current && <p class="muted">It runs version {shortDigest(pipeline.digest)}, which is not the current one.</p>}
      <SpecForm spec={spec} />
      <div class="row wrap">
        <Field label="Priority">
          <select class="select" value={priority} onChange={(event) => setPriority(event.currentTarget.value)}>
            {['low', 'normal', 'high', 'critical'].map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </Field>
        <Field label="Delay in seconds">
          <input class="input" type="number" min="0" value={delay} placeholder="0" onInput={(event) => setDelay(event.currentTarget.value)} />
        </Field>
      </div>
    </FormDialog>
  );
}

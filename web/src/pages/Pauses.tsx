/** What is paused, by whom and why. */

import { useState } from 'preact/hooks';
import { api } from '../api/client';
import type { Pause } from '../api/types';
import { confirm } from '../components/Confirm';
import { Command } from '../components/Copy';
import { Field, FormDialog } from '../components/Field';
import { Icon } from '../components/Icon';
import { Panel } from '../components/Panel';
import { EmptyState, ErrorState, Skeleton } from '../components/States';
import { Table } from '../components/Table';
import { Time } from '../components/Time';
import { toast } from '../components/Toast';
import { plural } from '../format';
import { useShortcuts } from '../keyboard';
import { usePolling } from '../live/polling';
import { useResource } from '../live/resource';
import { hrefOf, query, setQuery } from '../router';
import type { PageProps } from '../routes';
import '../styles/tables.css';

type Scope = Pause['scope'];

/** Return the target of a pause as the API takes it. */
export function targetOf(pause: Pick<Pause, 'scope' | 'pipeline' | 'stage' | 'user_id' | 'worker'>) {
  return { everything: (pause.scope as string) === 'everything' || (!pause.pipeline && !pause.user_id && !pause.worker), pipeline: pause.pipeline, stage: pause.stage, user_id: pause.user_id, worker: pause.worker };
}

export default function Pauses(_: PageProps) {
  const isAll = query.value.get('lifted') === '1';
  const list = useResource(() => ({ load: (signal) => api.get('/api/v1/pauses', { query: { lifted: isAll }, signal }), matters: () => false }), [isAll]);
  usePolling(list, 4000);
  const [isNew, setNew] = useState(false);
  useShortcuts([{ keys: 'n', label: 'New pause', run: () => setNew(true) }], []);
  const pauses = list.value.value;
  if (!pauses) return list.error.value ? <ErrorState error={list.error.value} retry={() => list.reload()} /> : <Skeleton lines={6} />;
  const resume = (pause: Pause) =>
    confirm({
      title: `Resume ${plainTarget(pause)}?`,
      body: <p>Its tasks can be claimed at once.</p>,
      action: 'Resume',
      reason: 'optional',
      run: async (reason) => {
        await api.post('/api/v1/pauses/resume', { body: { ...targetOf(pause), reason } });
        toast(`${plainTarget(pause)} is resumed`);
        void list.reload();
      },
    });
  return (
    <div class="stack">
      <div class="row wrap">
        <label class="row">
          <input type="checkbox" checked={isAll} onChange={() => setQuery({ lifted: isAll ? undefined : '1' })} /> lifted ones, too
        </label>
        <span class="grow" />
        <button type="button" class="button primary" onClick={() => setNew(true)}>
          <Icon name="pauses" /> Pause …
        </button>
      </div>
      {pauses.length === 0 ? (
        <EmptyState icon="pauses" title="Nothing is paused">
          <p>A pause keeps workers from claiming tasks. New jobs are accepted and wait: nothing is lost.</p>
          <Command text={'reel pause --pipeline transcode --reason "new driver"'} />
        </EmptyState>
      ) : (
        <Panel title={plural(pauses.length, 'pause')} isFlush>
          <Table
            rows={pauses}
            keyOf={(pause) => pause.id}
            attributes={(pause) => ({ 'data-pause': pause.id })}
            columns={[
              { label: 'What', cell: (pause) => <Target pause={pause} /> },
              { label: 'Why', kind: 'text', cell: (pause) => pause.reason || <span class="muted">no reason given</span> },
              { label: 'By', cell: (pause) => pause.actor },
              { label: 'Since', cell: (pause) => <Time at={pause.paused_at} /> },
              isAll && {
                label: 'Lifted',
                cell: (pause) =>
                  pause.resumed_at && (
                    <span>
                      <Time at={pause.resumed_at} /> <span class="muted">by {pause.resumed_by}</span>
                      {pause.resumed_reason && <span class="muted">: {pause.resumed_reason}</span>}
                    </span>
                  ),
              },
              {
                label: 'Actions',
                kind: 'actions',
                cell: (pause) =>
                  pause.resumed_at === null && (
                    <button type="button" class="button small" onClick={() => resume(pause)}>
                      <Icon name="play" /> Resume
                    </button>
                  ),
              },
            ]}
          />
        </Panel>
      )}
      {isNew && <NewPause onClose={() => setNew(false)} onDone={() => void list.reload()} />}
    </div>
  );
}

function plainTarget(pause: Pause): string {
  if (pause.stage) return `${pause.pipeline}/${pause.stage}`;
  return pause.pipeline ?? (pause.user_id !== null ? `user ${pause.user_id}` : pause.worker !== null ? `worker ${pause.worker}` : 'everything');
}

function Target({ pause }: { pause: Pause }) {
  if (pause.pipeline) {
    return (
      <span>
        {pause.stage ? 'stage ' : 'pipeline '}
        <a href={hrefOf(['pipelines', pause.pipeline])}>{pause.pipeline}</a>
        {pause.stage && <strong>/{pause.stage}</strong>}
      </span>
    );
  }
  if (pause.worker !== null) {
    return (
      <span>
        worker <a href={hrefOf(['workers'], { name: pause.worker })}>{pause.worker}</a>
      </span>
    );
  }
  if (pause.user_id !== null) return <span>user {pause.user_id}</span>;
  return <strong>everything</strong>;
}

const SCOPES: readonly { scope: string; label: string }[] = [
  { scope: 'pipeline', label: 'a pipeline' },
  { scope: 'stage', label: 'a stage of a pipeline' },
  { scope: 'user', label: 'the jobs of a user' },
  { scope: 'worker', label: 'a worker' },
  { scope: 'everything', label: 'everything' },
];

function NewPause({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const [scope, setScope] = useState<Scope | string>('pipeline');
  const [pipeline, setPipeline] = useState('');
  const [stage, setStage] = useState('');
  const [name, setName] = useState('');
  const [reason, setReason] = useState('');
  const [isNow, setNow] = useState(false);
  const pipelines = useResource(() => ({ load: (signal) => api.get('/api/v1/pipelines', { signal }), matters: () => false }), []);
  const versions = pipelines.value.value ?? [];
  const names = [...new Set(versions.map((each) => each.name))].sort();
  const stages = versions.find((each) => each.name === pipeline && each.current)?.stages ?? [];
  const inPipeline = scope === 'pipeline' || scope === 'stage';
  const isReady = inPipeline ? pipeline !== '' && (scope === 'pipeline' || stage !== '') : scope === 'everything' || name.trim() !== '';
  const submit = async () => {
    const made = await api.post('/api/v1/pauses', {
      body: {
        everything: scope === 'everything',
        pipeline: inPipeline ? pipeline : null,
        stage: scope === 'stage' ? stage : null,
        user_id: scope === 'user' ? name.trim() : null,
        worker: scope === 'worker' ? name.trim() : null,
        reason: reason.trim() || null,
        now: isNow,
      },
    });
    onClose();
    onDone();
    toast(made.changed ? `Paused${made.released ? `, ${plural(made.released, 'task')} released` : ''}` : 'It was paused already');
  };
  return (
    <FormDialog title="Pause" action="Pause" isDangerous={scope === 'everything'} onClose={onClose} submit={submit} isReady={isReady}>
      <Field label="What">
        <select class="select" name="scope" value={scope} onChange={(event) => setScope(event.currentTarget.value)}>
          {SCOPES.map((each) => (
            <option key={each.scope} value={each.scope}>
              {each.label}
            </option>
          ))}
        </select>
      </Field>
      {inPipeline && (
        <Field label="Pipeline">
          <select class="select" name="pipeline" value={pipeline} onChange={(event) => setPipeline(event.currentTarget.value)}>
            <option value="">choose one</option>
            {names.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </Field>
      )}
      {scope === 'stage' && pipeline && (
        <Field label="Stage">
          <select class="select" name="stage" value={stage} onChange={(event) => setStage(event.currentTarget.value)}>
            <option value="">choose one</option>
            {stages.map((each) => (
              <option key={each.name}>{each.name}</option>
            ))}
          </select>
        </Field>
      )}
      {(scope === 'user' || scope === 'worker') && (
        <Field label={scope === 'user' ? 'User' : 'Name of the worker'}>
          <input class="input" value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </Field>
      )}
      <Field label="Reason" hint="It is shown where work waits.">
        <input class="input" name="reason" value={reason} maxLength={1000} onInput={(event) => setReason(event.currentTarget.value)} />
      </Field>
      <fieldset class="choices">
        <legend>Tasks that run now</legend>
        <label>
          <input type="radio" name="now" checked={!isNow} onChange={() => setNow(false)} />
          <span>finish</span>
        </label>
        <label>
          <input type="radio" name="now" checked={isNow} onChange={() => setNow(true)} />
          <span>
            are released <span class="muted small">Their work so far is lost; it does not count as an attempt.</span>
          </span>
        </label>
      </fieldset>
    </FormDialog>
  );
}

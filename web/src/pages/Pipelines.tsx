/** Pipelines and their versions: which one new jobs run, who has its code, and its graph. */

import { useMemo, useState } from 'preact/hooks';
import { api } from '../api/client';
import type { Pipeline } from '../api/types';
import { confirm } from '../components/Confirm';
import { Command, CopyButton } from '../components/Copy';
import { Icon } from '../components/Icon';
import { Json } from '../components/Json';
import { Panel } from '../components/Panel';
import { EmptyState, ErrorState, Skeleton } from '../components/States';
import { Table } from '../components/Table';
import { Time } from '../components/Time';
import { toast } from '../components/Toast';
import { count, duration, number, plural, shortDigest } from '../format';
import { usePolling } from '../live/polling';
import { useResource } from '../live/resource';
import { hrefOf, query, setQuery } from '../router';
import type { PageProps } from '../routes';
import { useTitle } from '../Shell';
import { isAdmin, may } from '../session';
import { wordsOf } from '../status';
import '../styles/job.css';
import '../styles/pipelines.css';
import '../styles/tables.css';
import { HEIGHT, placeStages } from './job/Graph';
import { fieldsOf } from './pipelines/schema';
import { SubmitJob } from './pipelines/Submit';

export default function Pipelines({ params }: PageProps) {
  const name = params['name'];
  useTitle(name ?? null);
  const list = useResource(() => ({ load: (signal) => api.get('/api/v1/pipelines', { signal }), matters: () => false }), []);
  usePolling(list, 10_000);
  const load = useResource(() => ({ load: (signal) => api.get('/api/v1/overview', { signal }), matters: (batch) => batch.events.length > 0, every: 4000 }), []);
  const versions = list.value.value;
  if (!versions) return list.error.value ? <ErrorState error={list.error.value} retry={() => list.reload()} /> : <Skeleton lines={6} />;
  const loads = new Map(load.value.value?.pipelines.map((each) => [each.pipeline, each]));
  if (name !== undefined) {
    const own = versions.filter((each) => each.name === name);
    if (!own.length) {
      return (
        <EmptyState icon="pipelines" title={`There is no pipeline ${name}`}>
          <a class="button" href={hrefOf(['pipelines'])}>
            Show all pipelines
          </a>
        </EmptyState>
      );
    }
    return <OnePipeline versions={own} load={loads.get(name)} reload={() => void list.reload()} />;
  }
  const names = [...new Set(versions.map((each) => each.name))].sort();
  if (!names.length) {
    return (
      <EmptyState icon="pipelines" title="No pipelines yet">
        <p>Workers declare their pipelines when they start.</p>
        <Command text="reel up --app pipelines:thumbs" />
      </EmptyState>
    );
  }
  return (
    <Panel title={plural(names.length, 'pipeline')} isFlush>
      <Table
        rows={names.map((each) => rowOf(each, versions, loads.get(each)))}
        keyOf={({ name: each }) => each}
        columns={[
          {
            label: 'Pipeline',
            cell: ({ name: each }) => (
              <a href={hrefOf(['pipelines', each])}>
                <strong>{each}</strong>
              </a>
            ),
          },
          {
            label: 'Current version',
            name: 'Version',
            cell: ({ current }) => (
              <span>
                <span class="mono">{current && shortDigest(current.digest)}</span> {current?.pinned && <span class="tag">pinned</span>}
                <span class="muted small">
                  {' '}
                  declared <Time at={current?.declared_at} />
                </span>
              </span>
            ),
          },
          { label: 'Versions', kind: 'number', cell: ({ own }) => own.length },
          { label: 'Stages', kind: 'number', cell: ({ current }) => current?.stages.length },
          isAdmin.value && {
            label: 'Workers',
            cell: ({ current }) =>
              current?.workers.length ? current.workers.slice(0, 3).join(', ') + (current.workers.length > 3 ? ` and ${current.workers.length - 3} more` : '') : <span class="tone-failed">none has it</span>,
          },
          { label: 'Ready', kind: 'number', cell: ({ load: at }) => (at ? count(at.ready.count, at.ready.capped) : '–') },
          { label: 'Running', kind: 'number', cell: ({ load: at }) => (at ? count(at.running.count, at.running.capped) : '–') },
          { label: 'Oldest waits', kind: 'number', cell: ({ load: at }) => (typeof at?.oldest === 'number' ? duration(at.oldest) : '–') },
        ]}
      />
    </Panel>
  );
}

/** A pipeline in the list: its versions, and what waits and runs. */
function rowOf(name: string, versions: readonly Pipeline[], load: Load | undefined) {
  const own = versions.filter((version) => version.name === name);
  return { name, own, current: own.find((version) => version.current) ?? own[0], load };
}

type Load = { ready: { count: number; capped: boolean }; running: { count: number; capped: boolean }; oldest: number | null };

function OnePipeline({ versions, load, reload }: { versions: readonly Pipeline[]; load: Load | undefined; reload: () => void }) {
  const wanted = query.value.get('version');
  const current = versions.find((each) => each.current) ?? versions[0];
  const shown = versions.find((each) => each.digest === wanted) ?? current;
  const [isOpen, setOpen] = useState(false);
  if (!shown || !current) return null;
  const isTranscode = shown.name === 'transcode';
  const use = (version: Pipeline | null) =>
    confirm({
      title: version ? `Run version ${shortDigest(version.digest)}?` : 'Run the newest version?',
      body: version ? <p>New jobs of {shown.name} run this version until it is unpinned. Jobs that exist keep theirs.</p> : <p>New jobs run the version that was declared last. Jobs that exist keep theirs.</p>,
      action: version ? 'Pin this version' : 'Unpin',
      run: async () => {
        await api.post('/api/v1/pipelines/{name}/use', { path: { name: shown.name }, body: { digest: version?.digest ?? null } });
        toast(version ? 'New jobs run this version' : 'New jobs run the newest version');
        reload();
      },
    });
  return (
    <div class="stack">
      <div class="row wrap">
        {load && (
          <span>
            {count(load.ready.count, load.ready.capped)} ready, {count(load.running.count, load.running.capped)} running
            {typeof load.oldest === 'number' && <span class="muted">, the oldest waits for {duration(load.oldest)}</span>}
          </span>
        )}
        <span class="grow" />
        <a class="button" href={hrefOf(['jobs'], { pipeline: shown.name })}>
          <Icon name="jobs" /> Its jobs
        </a>
        {may('jobs:write') &&
          (isTranscode ? (
            <a class="button primary" href={hrefOf(['videos'])}>
              <Icon name="plus" /> New video
            </a>
          ) : (
            <button type="button" class="button primary" onClick={() => setOpen(true)}>
              <Icon name="plus" /> Submit a job
            </button>
          ))}
      </div>
      <Panel
        title={
          <>
            Stages of <span class="mono">{shortDigest(shown.digest)}</span>
          </>
        }
        isFlush
      >
        <StagePicture pipeline={shown} />
        <Table
          rows={shown.stages}
          keyOf={(stage) => stage.name}
          columns={[
            {
              label: 'Stage',
              cell: (stage) => (
                <span>
                  <strong>{stage.name}</strong> {!stage.required && <span class="tag">optional</span>}
                </span>
              ),
            },
            { label: 'After', cell: (stage) => stage.after.join(', ') },
            {
              label: 'Tasks',
              cell: (stage) =>
                stage.each ? (
                  <span>
                    one for each of <code>{stage.each}</code>
                  </span>
                ) : (
                  'one'
                ),
            },
            { label: 'Phase', cell: (stage) => wordsOf(stage.phase) },
            {
              label: 'Needs',
              cell: (stage) => (
                <span class="tags">
                  {stage.needs.map((each) => (
                    <span key={each} class="tag">
                      {each}
                    </span>
                  ))}
                  {stage.prefers.map((each) => (
                    <span key={each} class="tag" title="preferred">
                      {each}?
                    </span>
                  ))}
                </span>
              ),
            },
            { label: 'Attempts', kind: 'number', cell: (stage) => stage.attempts },
            { label: 'Weight', kind: 'number', cell: (stage) => number(stage.weight) },
          ]}
        />
      </Panel>
      <Panel title={plural(versions.length, 'version')} isFlush>
        <Table
          rows={versions}
          keyOf={(version) => version.digest}
          attributes={(version) => ({ 'data-current': version === shown, 'data-version': version.digest })}
          columns={[
            {
              label: 'Digest',
              cell: (version) => (
                <span class="row">
                  <button type="button" class="link-button mono" onClick={() => setQuery({ version: version.digest }, { push: true })}>
                    {shortDigest(version.digest)}
                  </button>
                  <CopyButton text={version.digest} label="Copy the digest" />
                </span>
              ),
            },
            {
              label: 'State',
              cell: (version) => (
                <span class="tags">
                  {version.current && <span class="tag accent">new jobs run it</span>}
                  {version.pinned && <span class="tag">pinned</span>}
                </span>
              ),
            },
            { label: 'Declared', cell: (version) => <Time at={version.declared_at} /> },
            isAdmin.value && {
              label: 'Workers that have its code',
              name: 'Workers',
              kind: 'text',
              cell: (version) =>
                version.workers.length
                  ? version.workers.map((worker, index) => (
                      <>
                        {index > 0 && ', '}
                        <a key={worker} href={hrefOf(['workers'], { name: worker })}>
                          {worker}
                        </a>
                      </>
                    ))
                  : 'none',
            },
            {
              label: 'Actions',
              kind: 'actions',
              cell: (version) =>
                isAdmin.value && (
                  <button type="button" class="button small" onClick={() => use(version.pinned ? null : version)}>
                    {version.pinned ? 'Unpin' : version.current ? 'Pin' : 'Use'}
                  </button>
                ),
            },
          ]}
        />
      </Panel>
      <SchemaPanel schema={shown.spec} />
      {isOpen && <SubmitJob pipeline={shown} onClose={() => setOpen(false)} />}
    </div>
  );
}

function StagePicture({ pipeline }: { pipeline: Pipeline }) {
  const placed = useMemo(() => placeStages(pipeline.stages), [pipeline.digest]);
  return (
    <div class="graph-scroll pipeline-graph" tabIndex={0} role="img" aria-label={`Graph of ${pipeline.name}: ${pipeline.stages.map((stage) => (stage.after.length ? `${stage.name} after ${stage.after.join(' and ')}` : stage.name)).join('; ')}`}>
      <div class="graph" style={{ width: `${placed.width}px`, height: `${placed.height}px` }}>
        <svg width={placed.width} height={placed.height} aria-hidden="true">
          {placed.edges.map((edge) => (
            <path key={`${edge.from}>${edge.to}`} d={edge.path} />
          ))}
        </svg>
        {pipeline.stages.map((stage) => {
          const at = placed.nodes.get(stage.name);
          return (
            at && (
              <div key={stage.name} class="pipeline-node" data-each={stage.each !== null} style={{ left: `${at.x}px`, top: `${at.y}px`, width: `${placed.nodeWidth}px`, height: `${HEIGHT}px` }}>
                <strong class="truncate">{stage.name}</strong>
                <span class="small muted truncate">{stage.each ? 'fans out' : wordsOf(stage.phase)}</span>
              </div>
            )
          );
        })}
      </div>
    </div>
  );
}

function SchemaPanel({ schema }: { schema: unknown }) {
  const fields = fieldsOf(schema);
  return (
    <Panel title="Spec">
      {schema === null || schema === undefined ? (
        <p class="muted">This pipeline declares no type of its specs: any JSON document is accepted.</p>
      ) : (
        <div class="stack">
          {fields && (
            <dl class="facts">
              {fields.map((field) => (
                <>
                  <dt>
                    <span class="mono">{field.name}</span>
                    {field.isRequired && ' *'}
                  </dt>
                  <dd>
                    {field.kind === 'choice' ? field.choices.join(', ') : field.kind === 'json' ? 'a document' : field.kind === 'text' ? 'text' : field.kind}
                    {field.initial && <span class="muted">, {field.initial} by default</span>}
                    {field.hint && <span class="muted">: {field.hint}</span>}
                  </dd>
                </>
              ))}
            </dl>
          )}
          <details>
            <summary>JSON Schema</summary>
            <Json value={schema} label="the schema" />
          </details>
        </div>
      )}
    </Panel>
  );
}

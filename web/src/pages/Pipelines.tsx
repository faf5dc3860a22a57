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
import { placeStages } from './job/Graph';
import { fieldsOf } from './pipelines/schema';
import { SubmitJob } from './pipelines/Submit';

const WIDTH = 106;
const HEIGHT = 46;

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
      <div class="table-scroll">
        <table class="table cards">
          <thead>
            <tr>
              <th>Pipeline</th>
              <th>Current version</th>
              <th class="number">Versions</th>
              <th class="number">Stages</th>
              {isAdmin.value && <th>Workers</th>}
              <th class="number">Ready</th>
              <th class="number">Running</th>
              <th class="number">Oldest waits</th>
            </tr>
          </thead>
          <tbody>
            {names.map((each) => {
              const own = versions.filter((version) => version.name === each);
              const current = own.find((version) => version.current) ?? own[0];
              const at = loads.get(each);
              return (
                <tr key={each}>
                  <td data-label="Pipeline">
                    <a href={hrefOf(['pipelines', each])}>
                      <strong>{each}</strong>
                    </a>
                  </td>
                  <td data-label="Version">
                    <span>
                      <span class="mono">{current && shortDigest(current.digest)}</span> {current?.pinned && <span class="tag">pinned</span>}
                      <span class="muted small">
                        {' '}
                        declared <Time at={current?.declared_at} />
                      </span>
                    </span>
                  </td>
                  <td data-label="Versions" class="number">
                    {own.length}
                  </td>
                  <td data-label="Stages" class="number">
                    {current?.stages.length}
                  </td>
                  {isAdmin.value && (
                    <td data-label="Workers">{current?.workers.length ? current.workers.slice(0, 3).join(', ') + (current.workers.length > 3 ? ` and ${current.workers.length - 3} more` : '') : <span class="tone-failed">none has it</span>}</td>
                  )}
                  <td data-label="Ready" class="number">
                    {at ? count(at.ready.count, at.ready.capped) : '–'}
                  </td>
                  <td data-label="Running" class="number">
                    {at ? count(at.running.count, at.running.capped) : '–'}
                  </td>
                  <td data-label="Oldest waits" class="number">
                    {typeof at?.oldest === 'number' ? duration(at.oldest) : '–'}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </Panel>
  );
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
        <div class="table-scroll">
          <table class="table cards">
            <thead>
              <tr>
                <th>Stage</th>
                <th>After</th>
                <th>Tasks</th>
                <th>Phase</th>
                <th>Needs</th>
                <th class="number">Attempts</th>
                <th class="number">Weight</th>
              </tr>
            </thead>
            <tbody>
              {shown.stages.map((stage) => (
                <tr key={stage.name}>
                  <td data-label="Stage">
                    <span>
                      <strong>{stage.name}</strong> {!stage.required && <span class="tag">optional</span>}
                    </span>
                  </td>
                  <td data-label="After">{stage.after.join(', ')}</td>
                  <td data-label="Tasks">{stage.each ? (
                      <span>
                        one for each of <code>{stage.each}</code>
                      </span>
                    ) : (
                      'one'
                    )}</td>
                  <td data-label="Phase">{wordsOf(stage.phase)}</td>
                  <td data-label="Needs">
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
                  </td>
                  <td data-label="Attempts" class="number">
                    {stage.attempts}
                  </td>
                  <td data-label="Weight" class="number">
                    {number(stage.weight)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </Panel>
      <Panel title={plural(versions.length, 'version')} isFlush>
        <div class="table-scroll">
          <table class="table cards">
            <thead>
              <tr>
                <th>Digest</th>
                <th>State</th>
                <th>Declared</th>
                {isAdmin.value && <th>Workers that have its code</th>}
                <th aria-label="Actions" />
              </tr>
            </thead>
            <tbody>
              {versions.map((version) => (
                <tr key={version.digest} data-current={version === shown}>
                  <td data-label="Digest">
                    <span class="row">
                      <button type="button" class="link-button mono" onClick={() => setQuery({ version: version.digest }, { push: true })}>
                        {shortDigest(version.digest)}
                      </button>
                      <CopyButton text={version.digest} label="Copy the digest" />
                    </span>
                  </td>
                  <td data-label="State">
                    <span class="tags">
                      {version.current && <span class="tag accent">new jobs run it</span>}
                      {version.pinned && <span class="tag">pinned</span>}
                    </span>
                  </td>
                  <td data-label="Declared">
                    <Time at={version.declared_at} />
                  </td>
                  {isAdmin.value && (
                    <td data-label="Workers" class="cell-text">
                      {version.workers.length
                        ? version.workers.map((worker, index) => (
                            <>
                              {index > 0 && ', '}
                              <a key={worker} href={hrefOf(['workers'], { name: worker })}>
                                {worker}
                              </a>
                            </>
                          ))
                        : 'none'}
                    </td>
                  )}
                  <td class="actions">
                    {isAdmin.value && version.pinned && (
                      <button type="button" class="button small" onClick={() => use(null)}>
                        Unpin
                      </button>
                    )}
                    {isAdmin.value && !version.pinned && (
                      <button type="button" class="button small" onClick={() => use(version)}>
                        {version.current ? 'Pin' : 'Use'}
                      </button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
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
              <div key={stage.name} class="pipeline-node" data-each={stage.each !== null} style={{ left: `${at.x}px`, top: `${at.y}px`, width: `${WIDTH}px`, height: `${HEIGHT}px` }}>
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

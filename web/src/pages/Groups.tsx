/** Groups of jobs: the status and the progress of all jobs of one together, and actions on the whole. */

import { useState } from 'preact/hooks';
import { api } from '../api/client';
import type { Group } from '../api/types';
import { confirm } from '../components/Confirm';
import { Command } from '../components/Copy';
import { Icon } from '../components/Icon';
import { Panel } from '../components/Panel';
import { Progress } from '../components/Progress';
import { EmptyState, ErrorState, Skeleton } from '../components/States';
import { Status } from '../components/Status';
import { Table } from '../components/Table';
import { Time } from '../components/Time';
import { toast } from '../components/Toast';
import { number, percent, plural } from '../format';
import { usePolling } from '../live/polling';
import { useResource, type ResourceOptions } from '../live/resource';
import { hrefOf, query } from '../router';
import type { PageProps } from '../routes';
import { useTitle } from '../Shell';
import { isAdmin, may } from '../session';
import '../styles/groups.css';
import '../styles/tables.css';
import { rowOf, type JobRow } from './jobs/rows';

const PAGE = 50;
/** Jobs of a group that its page shows itself. */
const SHOWN_JOBS = 20;
/** The order in which counts are shown. */
const STATUSES = ['pending', 'running', 'completed', 'failed', 'quarantined', 'cancelled'] as const;

const isOfJob: NonNullable<ResourceOptions<unknown>['matters']> = (batch) => batch.events.some((event) => event.kind === 'event' && event.entity === 'job');

export default function Groups({ params }: PageProps) {
  const user = query.value.get('user') ?? '';
  return params['name'] ? <OneGroup key={`${user}/${params['name']}`} name={params['name']} user={user} /> : <List />;
}

function List() {
  const [limit, setLimit] = useState(PAGE);
  const list = useResource(() => ({ load: (signal) => readGroups(limit, signal), matters: isOfJob, every: 4000 }), [limit]);
  usePolling(list, 10_000);
  const found = list.value.value;
  if (!found) return list.error.value ? <ErrorState error={list.error.value} retry={() => list.reload()} /> : <Skeleton lines={6} />;
  if (found.groups.length === 0) {
    return (
      <EmptyState icon="groups" title="No groups yet">
        <p>Jobs of a group are followed, cancelled and retried as one, and other jobs can wait for it. A group begins with the first job that names it.</p>
        <Command text={'reel submit thumbs --group nightly --spec \'{"video": "a.mp4"}\''} />
      </EmptyState>
    );
  }
  return (
    <div class="stack">
      <Panel title={`${plural(found.groups.length, 'group')}${found.isMore ? ', the newest' : ''}`} isFlush>
        <Table
          rows={found.groups}
          keyOf={(group) => `${group.user_id}/${group.name}`}
          attributes={(group) => ({ 'data-group': group.name })}
          columns={[
            {
              label: 'Group',
              kind: 'text',
              cell: (group) => (
                <a href={hrefOf(['groups', group.name], { user: group.user_id })}>
                  <strong>{group.name}</strong>
                </a>
              ),
            },
            { label: 'Status', cell: (group) => <Status status={group.status} /> },
            { label: 'Progress', cell: (group) => <GroupProgress group={group} /> },
            { label: 'Jobs', kind: 'text', cell: (group) => <Counts group={group} /> },
            isAdmin.value && { label: 'User', kind: 'text', cell: (group) => group.user_id },
            { label: 'Created', cell: (group) => <Time at={group.created_at} /> },
          ]}
        />
      </Panel>
      {found.isMore && (
        <button type="button" class="button" onClick={() => setLimit(limit + PAGE)}>
          Show more
        </button>
      )}
    </div>
  );
}

/** Read the newest groups, in pages. */
async function readGroups(most: number, signal: AbortSignal): Promise<{ groups: Group[]; isMore: boolean }> {
  const groups: Group[] = [];
  let after: string | null = null;
  do {
    const page: { items: Group[]; after: string | null } = await api.get('/api/v1/groups', { query: { limit: PAGE, after }, signal });
    groups.push(...page.items);
    after = page.after;
  } while (after && groups.length < most);
  return { groups, isMore: after !== null };
}

function GroupProgress({ group }: { group: Group }) {
  return (
    <span class="group-progress">
      <Progress value={group.progress} status={group.status} label={`Progress of ${group.name}`} />
      <span class="muted small">{percent(group.progress)}</span>
    </span>
  );
}

/** The jobs by status; each count leads to these jobs. */
function Counts({ group }: { group: Group }) {
  return (
    <span class="group-counts">
      {STATUSES.filter((status) => group.counts[status]).map((status) => (
        <a key={status} href={jobsOf(group, status)}>
          <Status status={status} label={`${number(group.counts[status] ?? 0)} ${status}`} />
        </a>
      ))}
    </span>
  );
}

function jobsOf(group: Group, status?: string): string {
  return hrefOf(['jobs'], { status, user: group.user_id, q: `group:${group.name}` });
}

function OneGroup({ name, user }: { name: string; user: string }) {
  const resource = useResource(
    () => ({
      load: async (signal) => {
        const group = await api.get('/api/v1/groups/{name}', { path: { name }, query: { user_id: user }, signal });
        const search = `group:${name}${group.user_id ? ` user:${JSON.stringify(group.user_id)}` : ''}`;
        const jobs = await api.get('/api/v1/jobs', { query: { q: search, limit: SHOWN_JOBS }, signal });
        return { group, jobs: jobs.items.map(rowOf) };
      },
      matters: isOfJob,
      every: 2000,
    }),
    [name, user],
  );
  usePolling(resource, 10_000);
  useTitle(name);
  const found = resource.value.value;
  if (!found) return resource.error.value ? <ErrorState error={resource.error.value} retry={() => resource.reload()} /> : <Skeleton lines={8} />;
  const { group, jobs } = found;
  return (
    <div class="stack">
      <div class="row wrap">
        <a class="button quiet" href={hrefOf(['groups'])}>
          <Icon name="left" /> All groups
        </a>
        <span class="grow" />
        {may('jobs:write') && <Actions group={group} onDone={() => void resource.reload()} />}
      </div>
      <Panel title={<Status status={group.status} />}>
        <div class="stack">
          <GroupProgress group={group} />
          <Counts group={group} />
          <Facts group={group} />
        </div>
      </Panel>
      <Panel
        title={jobs.length < group.jobs ? `The newest ${number(jobs.length)} of ${plural(group.jobs, 'job')}` : plural(group.jobs, 'job')}
        isFlush
        actions={
          <a class="button small" href={jobsOf(group)}>
            <Icon name="jobs" /> All in Jobs
          </a>
        }
      >
        <GroupJobs jobs={jobs} />
      </Panel>
    </div>
  );
}

function Facts({ group }: { group: Group }) {
  return (
    <dl class="facts">
      <dt>User</dt>
      <dd>{group.user_id || '–'}</dd>
      <dt>Created</dt>
      <dd>
        <Time at={group.created_at} />
      </dd>
      <dt>Finished</dt>
      <dd>{group.finished_at ? <Time at={group.finished_at} /> : 'not yet'}</dd>
      {group.round > 1 && (
        <>
          <dt>Round</dt>
          <dd>{number(group.round)}</dd>
        </>
      )}
      {group.callback && (
        <>
          <dt>Callback</dt>
          <dd>{group.callback}</dd>
        </>
      )}
    </dl>
  );
}

function GroupJobs({ jobs }: { jobs: readonly JobRow[] }) {
  return (
    <Table
      rows={jobs}
      keyOf={(job) => job.id}
      attributes={(job) => ({ 'data-job': job.id })}
      columns={[
        { label: 'Status', cell: (job) => <Status status={job.status} /> },
        { label: 'Job', kind: 'text', cell: (job) => <a href={hrefOf(['jobs', job.id])}>{job.subject || job.id}</a> },
        { label: 'Pipeline', cell: (job) => job.pipeline },
        { label: 'Error', kind: 'muted text', cell: (job) => job.error },
        { label: 'Changed', cell: (job) => <Time at={job.changedAt} /> },
      ]}
    />
  );
}

type Verb = 'cancel' | 'retry';

/** What the actions on a whole group are called, and what they do. */
const VERBS: Record<Verb, { action: string; done: string; meaning: string }> = {
  cancel: { action: 'Cancel the group', done: 'cancelled', meaning: 'Its active jobs are cancelled. Jobs that have failed stay failed.' },
  retry: { action: 'Retry the group', done: 'retried', meaning: 'Its failed jobs run again from where they failed; for an admin the quarantined ones, too.' },
};

function Actions({ group, onDone }: { group: Group; onDone: () => void }) {
  const sum = (...statuses: string[]) => statuses.reduce((total, status) => total + (group.counts[status] ?? 0), 0);
  const stopped = isAdmin.value ? sum('failed', 'quarantined') : sum('failed');
  return (
    <>
      {stopped > 0 && (
        <button type="button" class="button" onClick={() => ask('retry', group, stopped, onDone)}>
          <Icon name="retry" /> Retry the group
        </button>
      )}
      {sum('pending', 'running') > 0 && (
        <button type="button" class="button danger" onClick={() => ask('cancel', group, sum('pending', 'running'), onDone)}>
          <Icon name="cancel" /> Cancel the group
        </button>
      )}
    </>
  );
}

function ask(verb: Verb, group: Group, jobs: number, done: () => void): void {
  const { action, done: changed, meaning } = VERBS[verb];
  confirm({
    title: `${action} ${group.name}?`,
    body: (
      <p>
        {plural(jobs, 'job')}. {meaning}
      </p>
    ),
    action,
    isDangerous: verb === 'cancel',
    reason: 'optional',
    run: async (reason) => {
      const path = verb === 'cancel' ? '/api/v1/groups/{name}/cancel' : '/api/v1/groups/{name}/retry';
      const result = await api.post(path, { path: { name: group.name }, query: { user_id: group.user_id }, body: { reason } });
      const refused = result.refused ? `; ${plural(result.refused, 'job')} changed meanwhile` : '';
      toast(`${plural(result.changed, 'job')} ${changed}${refused}`);
      done();
    },
  });
}

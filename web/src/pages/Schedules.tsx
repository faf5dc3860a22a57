/** Schedules: what they submit and when, with what ran and what will run on a strip of time. */

import { useState } from 'preact/hooks';
import { api, ApiError } from '../api/client';
import type { ScheduleDetail } from '../api/types';
import { now } from '../clock';
import { confirm } from '../components/Confirm';
import { Command } from '../components/Copy';
import { Icon } from '../components/Icon';
import { Json } from '../components/Json';
import { Menu } from '../components/Menu';
import { Panel } from '../components/Panel';
import { EmptyState, ErrorState, Skeleton } from '../components/States';
import { Status } from '../components/Status';
import { Table } from '../components/Table';
import { Time } from '../components/Time';
import { toast, toastError } from '../components/Toast';
import { duration, exactTime, plural } from '../format';
import { useShortcuts } from '../keyboard';
import { usePolling } from '../live/polling';
import { useResource } from '../live/resource';
import { hrefOf, navigate, query, setQuery } from '../router';
import type { PageProps } from '../routes';
import { useTitle } from '../Shell';
import { may } from '../session';
import { toneOf, wordsOf } from '../status';
import '../styles/schedules.css';
import '../styles/tables.css';
import { BackfillDialog } from './schedules/Backfill';
import { EditSchedule } from './schedules/Edit';
import { itemsOf, layoutStrip, RANGES, statusOfRun, ticksOf, type Range } from './schedules/strip';

/** Schedules whose runs are read for the strip. */
const MAX_STRIPS = 60;

export default function Schedules({ params }: PageProps) {
  return params['name'] ? <OneSchedule name={params['name']} /> : <List />;
}

function rangeOf(): Range {
  return RANGES.find((each) => each.id === query.value.get('range')) ?? RANGES[1];
}

function List() {
  const list = useResource(
    () => ({
      load: async (signal) => {
        const schedules = await api.get('/api/v1/schedules', { signal });
        const details = await Promise.all(schedules.slice(0, MAX_STRIPS).map((each) => api.get('/api/v1/schedules/{name}', { path: { name: each.name }, signal }).catch((error: unknown) => {
          if (error instanceof ApiError && error.status === 404) return null;
          throw error;
        })));
        return schedules.flatMap((each, index): ScheduleDetail[] => (index < MAX_STRIPS ? (details[index] ?? []) : { ...each, upcoming: each.next_tick ? [each.next_tick] : [], runs: each.last ? [each.last] : [] }) as ScheduleDetail[]);
      },
      matters: (batch) => batch.events.some((event) => event.kind === 'event' && event.entity === 'job'),
      every: 4000,
    }),
    [],
  );
  usePolling(list, 15_000);
  const [isNew, setNew] = useState(false);
  const canWrite = may('jobs:write');
  useShortcuts(canWrite ? [{ keys: 'n', label: 'New schedule', run: () => setNew(true) }] : [], [canWrite]);
  const found = list.value.value;
  if (!found) return list.error.value ? <ErrorState error={list.error.value} retry={() => list.reload()} /> : <Skeleton lines={6} />;
  return (
    <div class="stack">
      <div class="row wrap">
        <RangeChoice />
        <span class="grow" />
        {canWrite && (
          <button type="button" class="button primary" onClick={() => setNew(true)}>
            <Icon name="plus" /> New schedule
          </button>
        )}
      </div>
      {found.length === 0 ? (
        <EmptyState icon="schedules" title="No schedules yet">
          <p>A schedule submits a job at given times: every night, every 15 minutes, on Mondays.</p>
          {canWrite && <Command text={'reel schedules create nightly thumbs "30 2 * * *" --timezone Europe/Berlin'} />}
        </EmptyState>
      ) : (
        <Panel title={plural(found.length, 'schedule')} isFlush>
          <StripAxis />
          <ul>
            {found.map((each) => (
              <li key={each.name} class="schedule" data-schedule={each.name}>
                <div class="schedule-facts">
                  <span class="row">
                    <a class="truncate" href={hrefOf(['schedules', each.name])}>
                      <strong>{each.name}</strong>
                    </a>
                    {each.paused && <span class="tag warn">paused</span>}
                  </span>
                  <span class="muted small truncate">
                    <code>{each.timing}</code> {each.timezone}, <a class="in-text" href={hrefOf(['pipelines', each.pipeline])}>{each.pipeline}</a>
                  </span>
                </div>
                <div class="schedule-next small">
                  {each.last && <Status status={statusOfRun(each.last)} label={wordsOf(each.last.job_status ?? each.last.outcome)} />}
                  <span class="muted">{each.paused ? each.note || 'no note' : each.next_tick ? <>next <Time at={each.next_tick} /></> : 'no further tick'}</span>
                </div>
                <Strip schedule={each} />
              </li>
            ))}
          </ul>
        </Panel>
      )}
      {isNew && <EditSchedule schedule={null} onClose={() => setNew(false)} onDone={(name) => navigate(hrefOf(['schedules', name]))} />}
    </div>
  );
}

function RangeChoice() {
  const range = rangeOf();
  return (
    <div class="row" role="group" aria-label="Shown time">
      {RANGES.map((each) => (
        <button key={each.id} type="button" class="button small" aria-pressed={each === range} onClick={() => setQuery({ range: each.id === 'day' ? undefined : each.id })}>
          {each.label}
        </button>
      ))}
    </div>
  );
}

function StripAxis() {
  const minute = Math.floor(now.value / 60_000) * 60_000;
  return (
    <div class="schedule strip-axis" aria-hidden="true">
      <span class="schedule-facts" />
      <span class="schedule-next" />
      <div class="strip-labels">
        {ticksOf(minute, rangeOf()).map((tick) => (
          <span key={tick.left} style={{ left: `${tick.left}%` }}>
            {tick.label}
          </span>
        ))}
      </div>
    </div>
  );
}

function Strip({ schedule }: { schedule: ScheduleDetail }) {
  const range = rangeOf();
  const items = itemsOf(schedule);
  const marks = layoutStrip(items, now.value, range);
  const runs = items.filter((item) => item.kind === 'run').length;
  return (
    <div class="strip" data-paused={schedule.paused} role="group" aria-label={`${plural(runs, 'run')}, ${plural(items.length - runs, 'tick')} to come`}>
      {ticksOf(Math.floor(now.value / 60_000) * 60_000, range).map((tick) => (
        <span key={tick.left} class="strip-tick" style={{ left: `${tick.left}%` }} />
      ))}
      <span class="strip-now" style={{ left: `${(range.before / (range.before + range.after)) * 100}%` }} />
      {marks.map((mark) => {
        const only = mark.items.length === 1 ? mark.items[0] : undefined;
        const title = mark.items
          .slice(0, 6)
          .map((item) => `${exactTime(item.at).replace(/\.\d{3}/, '')}: ${item.label}`)
          .join('\n');
        const style = { left: `${mark.left}%` };
        const body = mark.items.length > 1 ? <span>{mark.items.length}</span> : null;
        const key = `${mark.kind}${mark.items[0]?.at}`;
        return only?.job ? (
          <a key={key} class="strip-mark" data-kind={mark.kind} data-tone={toneOf(mark.status)} style={style} title={title} aria-label={title} href={hrefOf(['jobs', only.job])} />
        ) : (
          <span key={key} class="strip-mark" data-kind={mark.kind} data-tone={toneOf(mark.status)} data-many={mark.items.length > 1} style={style} title={title}>
            {body}
          </span>
        );
      })}
    </div>
  );
}

function OneSchedule({ name }: { name: string }) {
  const resource = useResource(() => ({ load: (signal) => api.get('/api/v1/schedules/{name}', { path: { name }, signal }), matters: (batch) => batch.events.some((event) => event.kind === 'event' && event.entity === 'job'), every: 2000 }), [name]);
  usePolling(resource, 10_000);
  const [dialog, setDialog] = useState<'edit' | 'backfill' | null>(null);
  useTitle(name);
  const found = resource.value.value;
  if (!found) return resource.error.value ? <ErrorState error={resource.error.value} retry={() => resource.reload()} /> : <Skeleton lines={8} />;
  const canWrite = may('jobs:write');
  const reload = () => void resource.reload();
  const trigger = async () => {
    try {
      const run = await api.post('/api/v1/schedules/{name}/trigger', { path: { name } });
      const job = run.job_id === null ? null : String(run.job_id);
      toast(run.outcome === 'submitted' ? 'A job is submitted' : `The trigger is ${run.outcome}${run.reason ? `: ${run.reason}` : ''}`, 'done', job ? { action: { label: 'Open', run: () => navigate(hrefOf(['jobs', job])) } } : {});
      reload();
    } catch (error) {
      toastError(error);
    }
  };
  const pause = () =>
    confirm({
      title: `Pause ${name}?`,
      body: <p>It submits nothing until it is resumed. Ticks of the pause are not run later; you can backfill them. The reason is its note.</p>,
      action: 'Pause',
      reason: 'optional',
      run: async (note) => {
        await api.post('/api/v1/schedules/{name}/pause', { path: { name }, body: { note: note ?? '' } });
        toast('The schedule is paused');
        reload();
      },
    });
  const resume = async () => {
    try {
      await api.post('/api/v1/schedules/{name}/resume', { path: { name } });
      toast('The schedule is resumed');
      reload();
    } catch (error) {
      toastError(error);
    }
  };
  const remove = () =>
    confirm({
      title: `Delete ${name}?`,
      body: <p>The schedule and the record of its runs are deleted. Its jobs stay. This cannot be undone.</p>,
      action: 'Delete',
      isDangerous: true,
      typed: name,
      run: async () => {
        await api.delete('/api/v1/schedules/{name}', { path: { name } });
        toast('The schedule is deleted');
        navigate(hrefOf(['schedules']));
      },
    });
  return (
    <div class="stack">
      <div class="row wrap">
        <a class="button quiet" href={hrefOf(['schedules'])}>
          <Icon name="left" /> All schedules
        </a>
        <span class="grow" />
        {canWrite && (
          <>
            <button type="button" class="button" onClick={() => void trigger()}>
              <Icon name="play" /> Trigger now
            </button>
            {found.paused ? (
              <button type="button" class="button primary" onClick={() => void resume()}>
                Resume
              </button>
            ) : (
              <button type="button" class="button" onClick={pause}>
                <Icon name="pauses" /> Pause
              </button>
            )}
            <button type="button" class="button" onClick={() => setDialog('edit')}>
              <Icon name="edit" /> Edit
            </button>
            <Menu name="More actions" label={<Icon name="more" />} buttonClass="button icon">
              <button type="button" class="menu-item" onClick={() => setDialog('backfill')}>
                Backfill …
              </button>
              <button type="button" class="menu-item danger" onClick={remove}>
                <Icon name="trash" /> Delete …
              </button>
            </Menu>
          </>
        )}
      </div>
      {found.paused && (
        <div class="notice warn">
          <strong>
            Paused <Time at={found.changed_at} />
          </strong>
          <span>
            by {found.actor}
            {found.note && `: ${found.note}`}
          </span>
        </div>
      )}
      <Panel title="Runs and ticks" isFlush actions={<RangeChoice />}>
        <div class="strip-alone">
          <StripAxis />
          <Strip schedule={found} />
        </div>
      </Panel>
      <div class="split">
        <Panel title="Schedule">
          <dl class="facts">
            <dt>Timing</dt>
            <dd>
              <code>{found.timing}</code> in {found.timezone}
            </dd>
            <dt>Pipeline</dt>
            <dd>
              <a class="in-text" href={hrefOf(['pipelines', found.pipeline])}>{found.pipeline}</a>, priority {found.priority}
            </dd>
            {found.user_id && (
              <>
                <dt>User</dt>
                <dd>{found.user_id}</dd>
              </>
            )}
            <dt>While a job is active</dt>
            <dd>{wordsOf(found.overlap)}</dd>
            <dt>Missed ticks</dt>
            <dd>
              {found.catch_up === 'all' ? `all of the last ${duration(found.catch_up_window)}` : found.catch_up === 'latest' ? 'the latest one runs' : 'none runs'}
            </dd>
            {found.jitter > 0 && (
              <>
                <dt>Jitter</dt>
                <dd>up to {duration(found.jitter)}</dd>
              </>
            )}
            <dt>Changed</dt>
            <dd>
              <Time at={found.changed_at} /> <span class="muted">by {found.actor}</span>
            </dd>
          </dl>
          <div class="below">
            <Json value={found.spec} label="the spec" />
          </div>
        </Panel>
        <Panel title="Next ticks">
          {found.upcoming.length === 0 ? (
            <p class="muted">{found.paused ? 'None while it is paused.' : 'None: its end is reached.'}</p>
          ) : (
            <ol class="stack tight">
              {found.upcoming.map((tick) => (
                <li key={tick} class="row">
                  <span class="grow">{exactTime(tick).replace(/:\d\d\.000/, '')}</span>
                  <span class="muted">
                    <Time at={tick} />
                  </span>
                </li>
              ))}
            </ol>
          )}
        </Panel>
      </div>
      <Panel title="Last runs" isFlush>
        {found.runs.length === 0 ? (
          <p class="panel-body muted">It has not run yet. “Trigger now” submits a job at once.</p>
        ) : (
          <Table
            rows={found.runs}
            keyOf={(run) => `${run.tick}${run.source}${run.at}`}
            columns={[
              { label: 'Tick', cell: (run) => <Time at={run.tick} /> },
              { label: 'Outcome', cell: (run) => <Status status={statusOfRun(run)} label={run.job_status ? wordsOf(run.job_status) : run.outcome} /> },
              {
                label: 'Job',
                cell: (run) =>
                  run.job_id !== null && (
                    <a class="mono" href={hrefOf(['jobs', String(run.job_id)])}>
                      {String(run.job_id)}
                    </a>
                  ),
              },
              { label: 'From', cell: (run) => run.source },
              { label: 'Reason', kind: 'muted text', cell: (run) => run.reason },
            ]}
          />
        )}
      </Panel>
      {dialog === 'edit' && <EditSchedule schedule={found} onClose={() => setDialog(null)} onDone={reload} />}
      {dialog === 'backfill' && <BackfillDialog name={name} onClose={() => setDialog(null)} onDone={reload} />}
    </div>
  );
}

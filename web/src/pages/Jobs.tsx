/** The list of jobs: by status, with a search, and with actions on many. */

import { useComputed, useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { api } from '../api/client';
import { Command } from '../components/Copy';
import { Icon } from '../components/Icon';
import { Menu } from '../components/Menu';
import { EmptyState, ErrorState, Skeleton } from '../components/States';
import { Time } from '../components/Time';
import { VirtualList } from '../components/VirtualList';
import { count, number, plural } from '../format';
import { useShortcuts } from '../keyboard';
import { useResource } from '../live/resource';
import { isNarrow } from '../media';
import { hrefOf, navigate, query, setQuery } from '../router';
import type { PageProps } from '../routes';
import { may } from '../session';
import { PHASES, wordsOf } from '../status';
import '../styles/jobs.css';
import { LABELS, permits, type JobAction } from './jobs/actions';
import { BulkDialog } from './jobs/Bulk';
import { COLUMNS, JobStatusCell, resetColumns, shownColumns, toggleColumn } from './jobs/columns';
import { addressParams, filterOf, searchText, type JobFilter } from './jobs/filter';
import { JobList } from './jobs/list';
import { SearchField } from './jobs/Search';
import type { JobRow } from './jobs/rows';

const ROW = 36;
const NARROW_ROW = 58;
const SELECTION = 40;
/** The status of an answer to a search that is not understood. */
const REFUSED = 422;
const ACTIONS: readonly JobAction[] = ['retry', 'reprioritise', 'quarantine', 'cancel'];

interface Tab {
  id: string;
  label: string;
  statuses: readonly string[];
}

const TABS: readonly Tab[] = [
  { id: '', label: 'All', statuses: [] },
  { id: 'pending', label: 'Pending', statuses: ['pending'] },
  { id: 'running', label: 'Running', statuses: ['running'] },
  { id: 'completed', label: 'Completed', statuses: ['completed'] },
  { id: 'failed', label: 'Failed', statuses: ['failed'] },
  { id: 'quarantined', label: 'Quarantined', statuses: ['quarantined'] },
  { id: 'cancelled', label: 'Cancelled', statuses: ['cancelled'] },
];

export default function Jobs(_: PageProps) {
  const filter = filterOf(query.value);
  const text = searchText(filter);
  const list = useMemo(() => new JobList(filter), [text]);
  useEffect(() => {
    list.start();
    return () => list.stop();
  }, [list]);
  return (
    <div class="jobs">
      <StatusTabs filter={filter} />
      <div class="jobs-bar">
        <SearchField error={list.error.value?.status === REFUSED ? list.error.value : null} />
        <ColumnMenu />
      </div>
      <JobTable key={text} list={list} filter={filter} />
    </div>
  );
}

function StatusTabs({ filter }: { filter: JobFilter }) {
  const overview = useResource(
    () => ({
      load: (signal) => api.get('/api/v1/overview', { signal }),
      matters: (batch) => batch.events.some((event) => event.kind === 'event' && event.entity === 'job'),
      every: 4000,
    }),
    [],
  );
  const counts = overview.value.value?.jobs;
  const isPlain = !filter.isFlagged && !filter.isArchived && !filter.terms;
  const current = isPlain ? filter.statuses.join(',') : null;
  const countOf = (tab: Tab): string | null => {
    if (!counts || !tab.statuses.length) return null;
    const names: readonly string[] = tab.id === 'running' ? PHASES : tab.statuses;
    const found = names.flatMap((name) => counts[name] ?? []);
    return found.length
      ? count(
          found.reduce((sum, each) => sum + each.count, 0),
          found.some((each) => each.capped),
        )
      : null;
  };
  const go = (changes: Partial<JobFilter>) => hrefOf(['jobs'], addressParams({ ...filter, isFlagged: false, isArchived: false, statuses: [], ...changes }));
  return (
    <nav class="tabs jobs-tabs" aria-label="Jobs by status">
      {TABS.map((tab) => (
        <a key={tab.id} class="tab" href={go({ statuses: [...tab.statuses] })} aria-current={current === tab.statuses.join(',') ? 'true' : undefined}>
          {tab.label}
          {countOf(tab) !== null && <span class="tab-count">{countOf(tab)}</span>}
        </a>
      ))}
      <a class="tab" href={go({ isFlagged: true })} aria-current={filter.isFlagged ? 'true' : undefined}>
        Flagged
      </a>
      <a class="tab" href={go({ isArchived: true })} aria-current={filter.isArchived ? 'true' : undefined}>
        Archived
      </a>
    </nav>
  );
}

function ColumnMenu() {
  return (
    <Menu name="Columns" label={<Icon name="columns" />} buttonClass="button icon" staysOpen>
      {COLUMNS.map((column) => (
        <label key={column.id} class="menu-item">
          <input type="checkbox" checked={shownColumns.value.includes(column.id)} onChange={() => toggleColumn(column.id)} />
          {column.label}
        </label>
      ))}
      <button type="button" class="menu-item" onClick={resetColumns}>
        Show the usual ones
      </button>
    </Menu>
  );
}

function JobTable({ list, filter }: { list: JobList; filter: JobFilter }) {
  const rows = list.rows.value;
  const current = useSignal<string | null>(null);
  const selected = useSignal<ReadonlySet<string>>(new Set());
  const bulk = useSignal<{ action: JobAction; all: boolean } | null>(null);
  const lastToggled = useSignal(-1);
  const position = useComputed(() => (current.value === null ? -1 : (list.rows.value ?? []).findIndex((row) => row.id === current.value)));
  const canWrite = may('jobs:write') && !filter.isArchived;

  const toggle = (row: JobRow, index: number, isRange: boolean) => {
    const next = new Set(selected.value);
    const isAdding = !next.has(row.id);
    const from = isRange && lastToggled.value >= 0 ? Math.min(lastToggled.value, index) : index;
    const to = isRange && lastToggled.value >= 0 ? Math.max(lastToggled.value, index) : index;
    for (const each of (list.rows.peek() ?? []).slice(from, to + 1)) {
      if (isAdding) next.add(each.id);
      else next.delete(each.id);
    }
    lastToggled.value = index;
    selected.value = next;
  };
  const move = (step: number) => {
    const all = list.rows.peek() ?? [];
    const next = Math.max(0, Math.min(all.length - 1, position.peek() + step));
    current.value = all[next]?.id ?? null;
  };
  useShortcuts(
    [
      { keys: 'j', label: 'Next job', run: () => move(1) },
      { keys: 'k', label: 'Previous job', run: () => move(-1) },
      {
        keys: 'Enter',
        label: 'Open the job',
        run: () => {
          if (current.peek()) navigate(hrefOf(['jobs', current.peek() ?? '']));
        },
      },
      {
        keys: 'x',
        label: 'Select the job',
        run: () => {
          const row = list.rows.peek()?.[position.peek()];
          if (row && canWrite) toggle(row, position.peek(), false);
        },
      },
      {
        keys: 'Escape',
        label: 'Clear the selection',
        run: () => {
          selected.value = new Set();
        },
      },
    ],
    [list],
  );

  if (!rows && list.error.value?.status === REFUSED) {
    return (
      <EmptyState icon="filter" title="This search is not understood">
        <p>The field above says why. Searches are written as for <code>reel jobs</code>.</p>
      </EmptyState>
    );
  }
  if (!rows) {
    return list.error.value ? (
      <ErrorState error={list.error.value} retry={() => void list.readAgain()} />
    ) : (
      <div class="panel panel-body jobs-list">
        <Skeleton lines={12} />
      </div>
    );
  }
  const chosen = rows.filter((row) => selected.value.has(row.id));
  const columns = COLUMNS.filter((column) => shownColumns.value.includes(column.id));
  const tracks = `${canWrite ? `${SELECTION}px ` : ''}${columns.map((column) => column.track).join(' ')}`;
  const least = columns.reduce((sum, column) => sum + column.least + 12, canWrite ? SELECTION : 12);
  const open = (row: JobRow, event: MouseEvent) => {
    if ((event.target as Element).closest('a, button, input, label')) return;
    if (event.ctrlKey || event.metaKey) globalThis.open(hrefOf(['jobs', row.id]));
    else navigate(hrefOf(['jobs', row.id]));
  };
  const box = (row: JobRow, index: number) => (
    <label class="jobs-box">
      <input type="checkbox" aria-label={`Select job ${row.id}`} tabIndex={-1} checked={selected.value.has(row.id)} onClick={(event) => toggle(row, index, event.shiftKey)} />
    </label>
  );

  return (
    <>
      <div class="jobs-bar">
        {chosen.length ? (
          <>
            <strong>{plural(chosen.length, 'job')} selected</strong>
            <BulkButtons onAct={(action) => (bulk.value = { action, all: false })} />
            <button type="button" class="button quiet" onClick={() => (selected.value = new Set())}>
              Clear
            </button>
          </>
        ) : (
          <>
            <span class="muted">
              {list.isComplete.value ? plural(rows.length, 'job') : `the newest ${number(rows.length)}`}
              {searchText(filter) && ' that match'}
            </span>
            {list.waiting.value.length > 0 && (
              <button type="button" class="button small" onClick={list.showWaiting}>
                Show {plural(list.waiting.value.length, 'new job')}
              </button>
            )}
            <span class="grow" />
            {canWrite && !filter.isFlagged && !filter.terms && rows.length > 0 && (
              <Menu
                label={
                  <>
                    All that match <Icon name="down" />
                  </>
                }
                buttonClass="button small"
              >
                {ACTIONS.filter(permits).map((action) => (
                  <button key={action} type="button" class="menu-item" onClick={() => (bulk.value = { action, all: true })}>
                    {LABELS[action].verb} …
                  </button>
                ))}
              </Menu>
            )}
          </>
        )}
      </div>
      {list.error.value && list.error.value.status !== REFUSED && (
        <div class="notice error" role="alert">
          {list.error.value.message}
        </div>
      )}
      {rows.length === 0 ? (
        <NoJobs filter={filter} />
      ) : (
        <VirtualList
          class="panel jobs-list"
          label="Jobs"
          role="table"
          count={rows.length}
          rowHeight={isNarrow.value ? NARROW_ROW : ROW}
          minWidth={isNarrow.value ? 0 : least}
          reveal={position.value >= 0 ? position.value : undefined}
          onEnd={list.readMore}
          onTop={(isAtTop) => {
            list.isAtTop = isAtTop;
            if (isAtTop && list.waiting.peek().length) list.showWaiting();
          }}
          head={
            !isNarrow.value && (
              <div class="jobs-row jobs-columns" role="row" style={{ gridTemplateColumns: tracks }}>
                {canWrite && <span role="columnheader"><span class="visually-hidden">Selected</span></span>}
                {columns.map((column) => (
                  <span key={column.id} role="columnheader" class={column.isNumber ? 'number' : ''}>
                    {column.label}
                  </span>
                ))}
              </div>
            )
          }
          row={(index) => {
            const row = rows[index];
            if (!row) return null;
            const state = { 'data-current': row.id === current.value, 'data-selected': selected.value.has(row.id), 'data-job': row.id };
            return isNarrow.value ? (
              <div class="jobs-card" role="row" {...state} onClick={(event) => open(row, event)}>
                <span role="cell" class="jobs-card-line">
                  <JobStatusCell row={row} />
                  <span class="grow" />
                  <Time at={row.createdAt} />
                </span>
                <span role="cell" class="truncate">
                  <a href={hrefOf(['jobs', row.id])}>{row.pipeline}</a> <span class="muted">{row.error ?? (row.subject || row.id)}</span>
                </span>
              </div>
            ) : (
              <div class="jobs-row" role="row" {...state} style={{ gridTemplateColumns: tracks }} onClick={(event) => open(row, event)}>
                {canWrite && <span role="cell">{box(row, index)}</span>}
                {columns.map((column) => (
                  <span key={column.id} role="cell" class={`truncate ${column.isNumber ? 'number' : ''}`}>
                    {column.render(row)}
                  </span>
                ))}
              </div>
            );
          }}
        />
      )}
      {bulk.value && (
        <BulkDialog
          action={bulk.value.action}
          selected={bulk.value.all ? null : chosen}
          filter={filter}
          onClose={() => (bulk.value = null)}
          onDone={() => {
            bulk.value = null;
            selected.value = new Set();
          }}
        />
      )}
    </>
  );
}

function BulkButtons({ onAct }: { onAct: (action: JobAction) => void }) {
  return (
    <>
      {ACTIONS.filter(permits).map((action) => (
        <button key={action} type="button" class={`button small ${action === 'cancel' || action === 'quarantine' ? 'danger' : ''}`} onClick={() => onAct(action)}>
          {LABELS[action].verb}
        </button>
      ))}
    </>
  );
}

function NoJobs({ filter }: { filter: JobFilter }) {
  if (searchText(filter)) {
    return (
      <EmptyState icon="filter" title={filter.statuses.length === 1 ? `No ${wordsOf(filter.statuses[0] ?? '')} jobs` : 'No job matches'}>
        <p>No job matches {searchText(filter)}.</p>
        <button type="button" class="button" onClick={() => setQuery(addressParams(filterOf(new URLSearchParams())), { push: true })}>
          Show all jobs
        </button>
      </EmptyState>
    );
  }
  return (
    <EmptyState title="No jobs yet">
      <p>Submit a video, and watch its chunks being encoded here.</p>
      <Command text="reel submit transcode movie.mp4" />
    </EmptyState>
  );
}

/** The columns of the list of jobs; the reader chooses which are shown. */

import type { ComponentChildren } from 'preact';
import { CopyButton } from '../../components/Copy';
import { Icon } from '../../components/Icon';
import { Status } from '../../components/Status';
import { Elapsed, Time } from '../../components/Time';
import { hrefOf } from '../../router';
import { storedSignal } from '../../stored';
import type { JobRow } from './rows';

export interface Column {
  id: string;
  label: string;
  /** A track of a CSS grid. */
  track: string;
  /** The least width in pixels. */
  least: number;
  isNumber?: boolean;
  render: (row: JobRow) => ComponentChildren;
}

export const COLUMNS: readonly Column[] = [
  { id: 'status', label: 'Status', track: '150px', least: 150, render: (row) => <JobStatusCell row={row} /> },
  {
    id: 'id',
    label: 'Id',
    track: '186px',
    least: 186,
    render: (row) => (
      <span class="jobs-id">
        <a class="mono" href={hrefOf(['jobs', row.id])} tabIndex={-1}>
          {row.id}
        </a>
        <CopyButton text={row.id} label="Copy the id" />
      </span>
    ),
  },
  { id: 'pipeline', label: 'Pipeline', track: 'minmax(110px, 0.7fr)', least: 110, render: (row) => row.pipeline },
  {
    id: 'subject',
    label: 'Subject',
    track: 'minmax(180px, 2fr)',
    least: 180,
    render: (row) => (row.error ? <span title={row.error}><span class="muted">{row.subject}</span> <span class="tone-failed">{row.error}</span></span> : row.subject),
  },
  { id: 'user', label: 'User', track: 'minmax(60px, 0.4fr)', least: 60, render: (row) => row.user || <span class="muted">–</span> },
  { id: 'priority', label: 'Priority', track: '58px', least: 58, isNumber: true, render: (row) => row.priority },
  { id: 'created', label: 'Created', track: '88px', least: 88, render: (row) => <Time at={row.createdAt} /> },
  { id: 'duration', label: 'Duration', track: '88px', least: 88, render: (row) => <Elapsed from={row.startedAt} to={row.finishedAt} /> },
  { id: 'started', label: 'Started', track: '88px', least: 88, render: (row) => <Time at={row.startedAt} /> },
  { id: 'finished', label: 'Finished', track: '88px', least: 88, render: (row) => <Time at={row.finishedAt} /> },
  { id: 'changed', label: 'Changed', track: '88px', least: 88, render: (row) => <Time at={row.changedAt} /> },
  { id: 'actor', label: 'Last actor', track: 'minmax(110px, 0.7fr)', least: 110, render: (row) => row.actor },
  { id: 'reason', label: 'Reason', track: 'minmax(120px, 1fr)', least: 120, render: (row) => row.reason ?? <span class="muted">–</span> },
];

const DEFAULT = ['status', 'id', 'pipeline', 'subject', 'user', 'created', 'duration'];
const isNames = (value: unknown): value is string[] => Array.isArray(value) && value.every((each) => typeof each === 'string');

export const shownColumns = storedSignal<string[]>('jobs.columns', DEFAULT, isNames);

export function toggleColumn(id: string): void {
  const shown = shownColumns.value;
  shownColumns.value = shown.includes(id) ? shown.filter((each) => each !== id) : [...shown, id];
}

export function resetColumns(): void {
  shownColumns.value = DEFAULT;
}

export function JobStatusCell({ row }: { row: JobRow }) {
  return (
    <span class="row">
      <Status status={row.status} />
      {row.flagged && (
        <span class="tone-retrying jobs-flag" title={`Flagged: ${row.flagged}`} role="img" aria-label={`flagged: ${row.flagged}`}>
          <Icon name="warning" />
        </span>
      )}
    </span>
  );
}

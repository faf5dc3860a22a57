/** What a page shows when there is nothing, nothing yet, or an error. */

import type { ComponentChildren } from 'preact';
import type { ApiError } from '../api/client';
import { Icon, type IconName } from './Icon';

export function EmptyState(props: { icon?: IconName; title: string; children?: ComponentChildren }) {
  return (
    <div class="state">
      <Icon name={props.icon ?? 'jobs'} />
      <h2>{props.title}</h2>
      {props.children}
    </div>
  );
}

export function ErrorState({ error, retry }: { error: ApiError; retry?: () => void }) {
  const title = error.status === 404 ? 'Not found' : error.status === 403 ? 'Not permitted' : 'This could not be read';
  return (
    <div class="state" role="alert">
      <Icon name="warning" />
      <h2>{title}</h2>
      <p>
        {error.message}
        {error.hint && (
          <>
            <br />
            {error.hint}
          </>
        )}
      </p>
      {retry && (
        <button type="button" class="button" onClick={retry}>
          <Icon name="retry" /> Try again
        </button>
      )}
    </div>
  );
}

/** Grey lines in the place of what is being read. */
export function Skeleton({ lines = 4 }: { lines?: number }) {
  return (
    <div class="stack" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} class="skeleton" style={{ width: `${90 - ((index * 23) % 50)}%` }} />
      ))}
    </div>
  );
}

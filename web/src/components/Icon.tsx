/** Icons as paths of a 16 × 16 grid. Marks of states differ by shape, so that colour is never needed to tell them apart. */

import type { Tone } from '../status';

const PATHS = {
  overview: 'M2 2.5h5v5H2zM9 2.5h5v3H9zM9 7.5h5v6H9zM2 9.5h5v4H2z',
  jobs: 'M2 4h12M2 8h12M2 12h8',
  groups: 'M2 6h8v7.5H2zM4.5 6V2.5h9V10H10',
  videos: 'M2 3.5h12v9H2zM6.5 6v4l3.5-2z',
  workers: 'M2 3h5v4H2zM9 3h5v4H9zM2 9h5v4H2zM9 9h5v4H9z',
  schedules: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 5v3.2l2.2 1.6',
  pauses: 'M5.5 3v10M10.5 3v10',
  limits: 'M2.5 12.5a6.5 6.5 0 1 1 11 0M8 9.5l3-4M8 9.5h.01',
  pipelines: 'M2 6h4v4H2zM10 2.5h4v4h-4zM10 9.5h4v4h-4zM6 8h2M8 4.5v7M8 4.5h2M8 11.5h2',
  webhooks: 'M3.5 10.5a2 2 0 1 0 .01 0M12.5 10.5a2 2 0 1 0 .01 0M8 2.5a2 2 0 1 0 .01 0M7 6.3l-2.5 4.4M9 6.3l2.5 4.4M5.6 12.5h4.8',
  machines: 'M4.5 4.5h7a3.5 3.5 0 0 1 0 7h-7a3.5 3.5 0 0 1 0-7zM8 4.5v7',
  archive: 'M2 3h12v3H2zM3 6v7h10V6M6.5 9h3',
  keys: 'M5 7.5a3 3 0 1 0 .01 0M7.3 8.6 13.5 2.5M11 5l2 2',
  settings: 'M2 5h7M12 5h2M2 11h2M7 11h7M10.5 3.5v3M5.5 9.5v3',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.5 10.5 14 14',
  sun: 'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1',
  moon: 'M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5z',
  user: 'M8 2.5a2.7 2.7 0 1 0 0 5.4 2.7 2.7 0 0 0 0-5.4zM2.8 14a5.2 5.2 0 0 1 10.4 0',
  close: 'M3.5 3.5l9 9M12.5 3.5l-9 9',
  menu: 'M2 4h12M2 8h12M2 12h12',
  copy: 'M5.5 5.5h8v8h-8zM3.5 10.5h-1v-8h8v1',
  check: 'M3 8.5l3.5 3.5L13 4.5',
  down: 'M4 6l4 4 4-4',
  right: 'M6 4l4 4-4 4',
  left: 'M10 4 6 8l4 4',
  more: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  retry: 'M13 8a5 5 0 1 1-1.5-3.6M13 2.5v3h-3',
  cancel: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM3.8 3.8l8.4 8.4',
  warning: 'M8 2 14.5 13.5h-13zM8 6.5v3.2M8 11.7h.01',
  help: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM6.2 6.3a1.8 1.8 0 1 1 2.6 1.6c-.6.3-.8.6-.8 1.3M8 11.3h.01',
  columns: 'M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10',
  filter: 'M2 3h12L9.5 8.5V13L6.5 11.5v-3z',
  plus: 'M8 3v10M3 8h10',
  minus: 'M3 8h10',
  external: 'M9 2.5h4.5V7M13 3 7.5 8.5M11 9v4H3V5h4',
  drain: 'M3 2.5h10L9.5 8v4l-3 1.5V8z',
  shield: 'M8 1.8 13.5 4v4c0 3.2-2.3 5.3-5.5 6.2C4.8 13.3 2.5 11.2 2.5 8V4z',
  play: 'M4.5 3v10l8-5z',
  lock: 'M4 7.5h8v6H4zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5',
  target: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 6.2a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6z',
  upload: 'M8 11V3M4.5 6.5 8 3l3.5 3.5M2.5 11v2.5h11V11',
  trash: 'M2.5 4h11M6 4V2.5h4V4M4 4l.7 9.5h6.6L12 4M6.7 6.5v4.5M9.3 6.5v4.5',
  edit: 'M3 13l.6-2.8L11 2.8 13.2 5 5.8 12.4z',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg viewBox="0 0 16 16" width="16" height="16" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** The mark of a state. */
export function Mark({ tone }: { tone: Tone }) {
  return (
    <svg viewBox="0 0 16 16" width="14" height="14" fill="none" stroke="currentColor" stroke-width="1.7" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
      {tone === 'waiting' && <circle cx="8" cy="8" r="5.6" stroke-dasharray="2.4 2" />}
      {tone === 'running' && (
        <>
          <circle cx="8" cy="8" r="5.6" />
          <path d="M8 4.6a3.4 3.4 0 0 1 0 6.8z" fill="currentColor" stroke="none" />
        </>
      )}
      {tone === 'done' && <path d="M2.8 8.4l3.4 3.5 7-7.4" stroke-width="2" />}
      {tone === 'failed' && <path d="M3.6 3.6l8.8 8.8M12.4 3.6l-8.8 8.8" stroke-width="2" />}
      {tone === 'retrying' && <path d="M12.9 8.4A5 5 0 1 1 11.4 4.4M12.6 2.2v3h-3" />}
      {tone === 'quarantined' && <path d="M5.4 2h5.2L14 5.4v5.2L10.6 14H5.4L2 10.6V5.4zM8 5v3.6M8 10.9h.01" />}
      {tone === 'skipped' && <path d="M3 4l4 4-4 4M8.5 4l4 4-4 4" />}
      {tone === 'cancelled' && <path d="M8 2.4a5.6 5.6 0 1 0 0 11.2A5.6 5.6 0 0 0 8 2.4zM4.2 4.2l7.6 7.6" />}
    </svg>
  );
}

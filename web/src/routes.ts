/** Every page: its address, its place in the navigation and its key after `g`. A page is loaded when it is first shown. */

import type { ComponentType } from 'preact';
import type { Scope } from './api/types';
import type { IconName } from './components/Icon';

export interface PageProps {
  /** The pieces of the address, decoded: `jobs/:id` gives `id`. */
  params: Record<string, string>;
}

export interface Route {
  /** The address below the base. */
  path: string;
  title: string;
  load: () => Promise<{ default: ComponentType<PageProps> }>;
  /** Shown in the navigation, with its group. */
  nav?: { group: 'Work' | 'Fleet' | 'Connections' | 'System'; icon: IconName; key?: string };
  /** The scope without which the page has nothing to show. */
  scope?: Scope;
}

export const ROUTES: readonly Route[] = [
  { path: '', title: 'Overview', load: () => import('./pages/Overview'), nav: { group: 'Work', icon: 'overview', key: 'o' } },
  { path: 'jobs', title: 'Jobs', load: () => import('./pages/Jobs'), nav: { group: 'Work', icon: 'jobs', key: 'j' } },
  { path: 'jobs/:id', title: 'Job', load: () => import('./pages/Job') },
  { path: 'groups', title: 'Groups', load: () => import('./pages/Groups'), nav: { group: 'Work', icon: 'groups', key: 'g' } },
  { path: 'groups/:name', title: 'Group', load: () => import('./pages/Groups') },
  { path: 'videos', title: 'Videos', load: () => import('./pages/Videos'), nav: { group: 'Work', icon: 'videos', key: 'v' } },
  { path: 'videos/:id', title: 'Video', load: () => import('./pages/Video') },
  {
    path: 'schedules',
    title: 'Schedules',
    load: () => import('./pages/Schedules'),
    nav: { group: 'Work', icon: 'schedules', key: 's' },
  },
  { path: 'schedules/:name', title: 'Schedule', load: () => import('./pages/Schedules') },
  { path: 'workers', title: 'Workers', load: () => import('./pages/Workers'), nav: { group: 'Fleet', icon: 'workers', key: 'w' }, scope: 'admin' },
  { path: 'pauses', title: 'Pauses', load: () => import('./pages/Pauses'), nav: { group: 'Fleet', icon: 'pauses', key: 'u' }, scope: 'admin' },
  { path: 'limits', title: 'Limits', load: () => import('./pages/Limits'), nav: { group: 'Fleet', icon: 'limits', key: 'l' }, scope: 'admin' },
  { path: 'limits/:name', title: 'Limit', load: () => import('./pages/Limits'), scope: 'admin' },
  { path: 'pipelines', title: 'Pipelines', load: () => import('./pages/Pipelines'), nav: { group: 'Fleet', icon: 'pipelines', key: 'p' } },
  { path: 'pipelines/:name', title: 'Pipeline', load: () => import('./pages/Pipelines') },
  { path: 'machines', title: 'Machines', load: () => import('./pages/Machines'), nav: { group: 'Fleet', icon: 'machines', key: 'm' } },
  { path: 'webhooks', title: 'Webhooks', load: () => import('./pages/Webhooks'), nav: { group: 'Connections', icon: 'webhooks', key: 'h' } },
  { path: 'webhooks/:id', title: 'Webhook', load: () => import('./pages/Webhooks') },
  { path: 'keys', title: 'Keys', load: () => import('./pages/Keys'), nav: { group: 'Connections', icon: 'keys', key: 'k' }, scope: 'admin' },
  { path: 'archive', title: 'Archive', load: () => import('./pages/Archive'), nav: { group: 'System', icon: 'archive', key: 'a' }, scope: 'admin' },
  { path: 'settings', title: 'Settings', load: () => import('./pages/Settings'), nav: { group: 'System', icon: 'settings', key: 'e' }, scope: 'admin' },
];

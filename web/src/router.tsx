import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { EventsTab } from './job/EventsTab';
import { JobPage } from './job/JobPage';
import { OverviewTab } from './job/OverviewTab';
import { ReplicasTab } from './job/ReplicasTab';
import { replicaState, searchOf } from './job/replicaRows';
import { JobsPage } from './jobs/JobsPage';
import { readSearch } from './jobs/jobFilters';
import { readLogSearch } from './logs/logSearch';
import { Frame } from './shell/Frame';
import { NotFound } from './shell/NotFound';
import { FROM } from './wizard/drafts';

const root = createRootRoute({ component: Frame, notFoundComponent: NotFound });

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/jobs' });
  },
});

const jobs = createRoute({
  getParentRoute: () => root,
  path: '/jobs',
  validateSearch: readSearch,
  component: JobsPage,
});

const newJob = createRoute({
  getParentRoute: () => root,
  path: '/jobs/new',
  validateSearch: (raw: Record<string, unknown>): { kind?: string; from?: string } => ({
    ...(typeof raw.kind === 'string' && raw.kind !== '' ? { kind: raw.kind } : {}),
    ...(typeof raw.from === 'string' && FROM.test(raw.from) ? { from: raw.from } : {}),
  }),
  component: lazyRouteComponent(() => import('./wizard/NewJobPage'), 'NewJobPage'),
});

const templates = createRoute({
  getParentRoute: () => root,
  path: '/templates',
  component: lazyRouteComponent(() => import('./templates/TemplatesPage'), 'TemplatesPage'),
});

const nodes = createRoute({
  getParentRoute: () => root,
  path: '/nodes',
  component: lazyRouteComponent(() => import('./cluster/NodesPage'), 'NodesPage'),
});

const queues = createRoute({
  getParentRoute: () => root,
  path: '/queues',
  component: lazyRouteComponent(() => import('./cluster/QueuesPage'), 'QueuesPage'),
});

const recordings = createRoute({
  getParentRoute: () => root,
  path: '/recordings',
  component: lazyRouteComponent(() => import('./recordings/RecordingsPage'), 'RecordingsPage'),
});

const job = createRoute({
  getParentRoute: () => root,
  path: '/jobs/$namespace/$kind/$name',
  validateSearch: (raw: Record<string, unknown>): { t?: string } =>
    typeof raw.t === 'string' && !Number.isNaN(Date.parse(raw.t)) ? { t: raw.t } : {},
  component: JobPage,
});

const overview = createRoute({ getParentRoute: () => job, path: '/', component: OverviewTab });

const replicas = createRoute({
  getParentRoute: () => job,
  path: '/replicas',
  validateSearch: (raw: Record<string, unknown>) =>
    searchOf(typeof raw.role === 'string' ? raw.role : '', replicaState(raw.state)),
  component: ReplicasTab,
});

const replica = createRoute({
  getParentRoute: () => job,
  path: '/replicas/$replica',
  component: lazyRouteComponent(() => import('./job/ReplicaTab'), 'ReplicaTab'),
});

const logs = createRoute({
  getParentRoute: () => job,
  path: '/logs',
  validateSearch: readLogSearch,
  component: lazyRouteComponent(() => import('./logs/LogsTab'), 'LogsTab'),
});

const metrics = createRoute({
  getParentRoute: () => job,
  path: '/metrics',
  validateSearch: (raw: Record<string, unknown>): { pattern?: string } =>
    typeof raw.pattern === 'string' && raw.pattern !== '' ? { pattern: raw.pattern } : {},
  component: lazyRouteComponent(() => import('./metrics/MetricsTab'), 'MetricsTab'),
});

const tensorboard = createRoute({
  getParentRoute: () => job,
  path: '/tensorboard',
  component: lazyRouteComponent(() => import('./tensorboard/TensorBoardTab'), 'TensorBoardTab'),
});

const events = createRoute({ getParentRoute: () => job, path: '/events', component: EventsTab });

const yaml = createRoute({
  getParentRoute: () => job,
  path: '/yaml',
  validateSearch: (raw: Record<string, unknown>): { view?: 'diff' | 'submitted' } =>
    raw.view === 'submitted' || raw.view === 'diff' ? { view: raw.view } : {},
  component: lazyRouteComponent(() => import('./job/YamlTab'), 'YamlTab'),
});

const tree = root.addChildren([
  home,
  jobs,
  newJob,
  templates,
  nodes,
  queues,
  recordings,
  job.addChildren([overview, replicas, replica, logs, metrics, tensorboard, events, yaml]),
]);

export const router = createRouter({
  routeTree: tree,
  basepath: new URL(document.baseURI).pathname,
  defaultPreload: 'intent',
  scrollRestoration: true,
  // Lists in addresses stay readable: a,b instead of a JSON text.
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const parts = Object.entries(search).filter(([, value]) => value !== undefined && value !== '');
    const text = parts
      .map(([name, value]) => `${name}=${encodeURIComponent(String(value)).replaceAll('%2C', ',')}`)
      .join('&');
    return text === '' ? '' : `?${text}`;
  },
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}

// The view of the list is in the URL: filters, order and columns. A parameter that cannot be read is ignored.

import type { JobSummary, Status } from '../api/contract.gen';

export const STATUSES = [
  'Queued',
  'Starting',
  'Running',
  'Restarting',
  'Suspended',
  'Succeeded',
  'Failed',
  'Deleting',
  'Unknown',
] as const satisfies readonly Status[];
export const STALLED = 'Stalled';
export type StatusFilter = Status | typeof STALLED;

export const COLUMNS = [
  'name',
  'status',
  'kind',
  'progress',
  'replicas',
  'devices',
  'resources',
  'age',
  'duration',
  'queue',
  'priority',
  'owner',
] as const;
export type Column = (typeof COLUMNS)[number];
export const DEFAULT_COLUMNS: readonly Column[] = ['name', 'status', 'kind', 'replicas', 'devices', 'age', 'duration'];

export const SORTS = ['created', 'name', 'status', 'kind', 'duration', 'replicas'] as const;
export type SortKey = (typeof SORTS)[number];
export const DEFAULT_SORT = '-created';
const SINCE = /^([1-9][0-9]{0,4})([smhd])$/;
const UNIT = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** What the URL has. A field that is absent has its default, so that addresses stay short. */
export interface JobSearch {
  readonly q?: string;
  readonly status?: string;
  readonly kind?: string;
  readonly ns?: string;
  readonly queue?: string;
  readonly owner?: string;
  /** `exp=7`, or `exp` alone for any value. */
  readonly label?: string;
  readonly since?: string;
  readonly sort?: string;
  readonly cols?: string;
  /** `1`: deleted jobs are shown, too. */
  readonly deleted?: string;
}

export function readSearch(raw: Record<string, unknown>): JobSearch {
  const search: Record<string, string> = {};
  for (const name of ['q', 'kind', 'ns', 'queue', 'owner', 'label'] as const) {
    const value = raw[name];
    if ((typeof value === 'string' && value !== '') || typeof value === 'number') search[name] = String(value);
  }
  const statuses = words(raw.status).filter(
    (each) => each === STALLED || (STATUSES as readonly string[]).includes(each),
  );
  if (statuses.length > 0) search.status = statuses.join(',');
  const columns = words(raw.cols).filter((each) => (COLUMNS as readonly string[]).includes(each));
  if (columns.length > 0) search.cols = columns.join(',');
  if (typeof raw.since === 'string' && SINCE.test(raw.since)) search.since = raw.since;
  if (typeof raw.sort === 'string' && isSort(raw.sort) && raw.sort !== DEFAULT_SORT) search.sort = raw.sort;
  if (raw.deleted === '1') search.deleted = '1';
  return search;
}

function isSort(text: string): boolean {
  return (SORTS as readonly string[]).includes(text.replace(/^-/, ''));
}

export function words(value: unknown): string[] {
  return typeof value === 'string' ? value.split(',').filter((each) => each !== '') : [];
}

export function toggled(list: string | undefined, word: string): string | undefined {
  const before = words(list);
  const after = before.includes(word) ? before.filter((each) => each !== word) : [...before, word];
  return after.length === 0 ? undefined : after.join(',');
}

export function columnsOf(search: JobSearch): Column[] {
  const chosen = words(search.cols);
  return chosen.length === 0
    ? [...DEFAULT_COLUMNS]
    : COLUMNS.filter((each) => each === 'name' || chosen.includes(each));
}

export function sortOf(search: JobSearch): { key: SortKey; descending: boolean } {
  const text = search.sort ?? DEFAULT_SORT;
  return { key: text.replace(/^-/, '') as SortKey, descending: text.startsWith('-') };
}

/** A click on a heading: ascending, then descending. The newest and the longest come first. */
export function nextSort(search: JobSearch, key: SortKey): string | undefined {
  const current = sortOf(search);
  const descendingFirst = key === 'created' || key === 'duration' || key === 'replicas';
  const descending = current.key === key ? !current.descending : descendingFirst;
  const text = `${descending ? '-' : ''}${key}`;
  return text === DEFAULT_SORT ? undefined : text;
}

export function statusOf(job: JobSummary): StatusFilter {
  return job.stalled !== '' && job.status === 'Running' ? STALLED : job.status;
}

type Test = (job: JobSummary) => boolean;

function testsBesideStatus(search: JobSearch, now: number): Test[] {
  const tests: Test[] = [];
  const among = (list: string | undefined, field: (job: JobSummary) => string) => {
    const wanted = new Set(words(list));
    if (wanted.size > 0) tests.push((job) => wanted.has(field(job)));
  };
  among(search.kind, (job) => job.kind);
  among(search.ns, (job) => job.namespace);
  among(search.queue, (job) => job.queue);
  among(search.owner, (job) => job.owner);
  for (const term of words(search.label)) {
    const [key = '', value] = term.split(/==?/);
    tests.push((job) => (value === undefined ? key in job.labels : job.labels[key] === value));
  }
  if (search.q !== undefined) {
    const text = search.q.toLowerCase();
    tests.push((job) => searched(job).includes(text));
  }
  const age = SINCE.exec(search.since ?? '');
  if (age) {
    const from = now - Number(age[1]) * UNIT[age[2] as keyof typeof UNIT];
    tests.push((job) => job.created !== null && Date.parse(job.created) >= from);
  }
  return tests;
}

function searched(job: JobSummary): string {
  return `${job.namespace}/${job.name}\n${job.description}\n${job.why?.reason ?? ''}\n${job.why?.message ?? ''}`.toLowerCase();
}

export interface Selected {
  readonly jobs: JobSummary[];
  /** Of the jobs that match everything but the status: how many have each. */
  readonly counts: ReadonlyMap<StatusFilter, number>;
}

export function select(jobs: readonly JobSummary[], search: JobSearch, now: number): Selected {
  const tests = testsBesideStatus(search, now);
  const statuses = new Set(words(search.status));
  const counts = new Map<StatusFilter, number>();
  const selected: JobSummary[] = [];
  for (const job of jobs) {
    if (!tests.every((test) => test(job))) continue;
    const status = statusOf(job);
    counts.set(status, (counts.get(status) ?? 0) + 1);
    if (statuses.size === 0 || statuses.has(status) || statuses.has(job.status)) selected.push(job);
  }
  return { jobs: sorted(selected, search, now), counts };
}

function sorted(jobs: JobSummary[], search: JobSearch, now: number): JobSummary[] {
  const { key, descending } = sortOf(search);
  const direction = descending ? -1 : 1;
  return jobs
    .map((job) => ({ job, value: sortValue(job, key, now) }))
    .sort((a, b) => direction * compare(a.value, b.value) || compare(a.job.name, b.job.name))
    .map(({ job }) => job);
}

function compare(a: string | number, b: string | number): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function sortValue(job: JobSummary, key: SortKey, now: number): string | number {
  if (key === 'created') return job.created === null ? now : Date.parse(job.created);
  if (key === 'duration') {
    if (job.started === null) return -1;
    return (job.ended === null ? now : Date.parse(job.ended)) - Date.parse(job.started);
  }
  if (key === 'replicas') return job.replicas.total;
  if (key === 'status') return STATUSES.indexOf(job.status);
  return key === 'name' ? job.name : job.kindName;
}

export function hasFilters(search: JobSearch): boolean {
  return ['q', 'status', 'kind', 'ns', 'queue', 'owner', 'label', 'since'].some((name) => name in search);
}

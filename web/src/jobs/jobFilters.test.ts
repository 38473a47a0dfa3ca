import { describe, expect, test } from 'vitest';
import type { JobSummary } from '../api/contract.gen';
import { columnsOf, nextSort, readSearch, select, toggled } from './jobFilters';

const NOW = Date.parse('2026-11-15T12:00:00Z');

function job(name: string, fields: Partial<JobSummary> = {}): JobSummary {
  return {
    namespace: 'default',
    kind: 'pytorchjob',
    kindName: 'PyTorchJob',
    apiVersion: 'kubeflow.org/v1',
    name,
    uid: `uid-${name}`,
    status: 'Running',
    stalled: '',
    why: null,
    attempt: 1,
    created: '2026-11-15T11:00:00Z',
    started: '2026-11-15T11:01:00Z',
    ended: null,
    replicas: { total: 2, ready: 2, running: 2, succeeded: 0, failed: 0 },
    resources: {},
    devices: {},
    progress: null,
    description: '',
    owner: '',
    queue: '',
    priority: '',
    labels: {},
    ...fields,
  };
}

const names = (search: Record<string, unknown>, jobs: JobSummary[]) =>
  select(jobs, readSearch(search), NOW).jobs.map((each) => each.name);

describe('the URL', () => {
  test('what cannot be read is ignored', () => {
    expect(
      readSearch({ status: 'Running,Nonsense', sort: 'x', cols: 'name,?', since: 'soon', q: '', ns: 7, other: 1 }),
    ).toEqual({
      status: 'Running',
      cols: 'name',
      ns: '7',
    });
  });

  test('the default order is not written', () => {
    expect(readSearch({ sort: '-created' })).toEqual({});
  });

  test('reading what was written changes nothing', () => {
    const search = {
      q: 'bert',
      status: 'Failed,Stalled',
      kind: 'mpijob',
      ns: 'a,b',
      since: '7d',
      sort: 'name',
      cols: 'name,age',
    };
    expect(readSearch(readSearch(search) as Record<string, unknown>)).toEqual(search);
  });

  test('a word is added and removed', () => {
    expect(toggled(undefined, 'a')).toBe('a');
    expect(toggled('a', 'b')).toBe('a,b');
    expect(toggled('a,b', 'a')).toBe('b');
    expect(toggled('a', 'a')).toBeUndefined();
  });

  test('the name is always a column', () => {
    expect(columnsOf({ cols: 'age' })).toEqual(['name', 'age']);
  });

  test('a second click on a heading turns the order around', () => {
    expect(nextSort({}, 'name')).toBe('name');
    expect(nextSort({ sort: 'name' }, 'name')).toBe('-name');
    expect(nextSort({ sort: 'name' }, 'created')).toBeUndefined();
    expect(nextSort({}, 'created')).toBe('created');
  });
});

describe('the selection', () => {
  test('all conditions must hold', () => {
    const jobs = [
      job('a', { kind: 'mpijob', namespace: 'x' }),
      job('b', { kind: 'mpijob' }),
      job('c', { namespace: 'x' }),
    ];
    expect(names({ kind: 'mpijob', ns: 'x' }, jobs)).toEqual(['a']);
  });

  test('text is found in name, description and reason', () => {
    const why = { reason: 'OOMKilled', message: '', since: null };
    const jobs = [job('bert'), job('b', { description: 'BERT large' }), job('c', { why }), job('d')];
    expect(names({ q: 'bert', sort: 'name' }, jobs)).toEqual(['b', 'bert']);
    expect(names({ q: 'oomk' }, jobs)).toEqual(['c']);
  });

  test('the counts ignore the filter of the status', () => {
    const jobs = [job('a'), job('b', { status: 'Failed' }), job('c', { stalled: 'silent' })];
    const { counts, jobs: shown } = select(jobs, readSearch({ status: 'Failed' }), NOW);
    expect(shown.map((each) => each.name)).toEqual(['b']);
    expect(Object.fromEntries(counts)).toEqual({ Running: 1, Failed: 1, Stalled: 1 });
  });

  test('a job that seems to hang is Running, too', () => {
    const jobs = [job('a'), job('b', { stalled: 'silent' })];
    expect(names({ status: 'Stalled' }, jobs)).toEqual(['b']);
    expect(names({ status: 'Running', sort: 'name' }, jobs)).toEqual(['a', 'b']);
  });

  test('the newest is first', () => {
    const jobs = [job('old', { created: '2026-11-01T00:00:00Z' }), job('new')];
    expect(names({}, jobs)).toEqual(['new', 'old']);
    expect(names({ since: '1d' }, jobs)).toEqual(['new']);
  });
});

test('labels select by value, or by key alone, and all of them must fit', () => {
  const jobs = [job('a', { labels: { exp: '7', team: 'x' } }), job('b', { labels: { exp: '8' } }), job('c')];
  expect(names({ label: 'exp=7' }, jobs)).toEqual(['a']);
  expect(names({ label: 'exp' }, jobs)).toEqual(['a', 'b']);
  expect(names({ label: 'exp,team=x' }, jobs)).toEqual(['a']);
});

import { expect, test } from 'vitest';
import type { JobSummary } from '../api/contract.gen';
import { jobId } from '../api/patches';
import { moved, rowOf } from './listCursor';

const jobs = (names: string): JobSummary[] =>
  [...names].map((name) => ({ namespace: 'default', kind: 'tfjob', name, uid: name }) as JobSummary);
const named = (names: string, row: number) => jobs(names)[row]?.name;

test('the first key means the first job, and the ends stop', () => {
  expect(rowOf(jobs('abc'), null)).toBe(-1);
  const first = moved(jobs('abc'), null, 1);
  expect(first).toEqual({ id: jobId(jobs('a')[0] as JobSummary), at: 0 });
  expect(moved(jobs('abc'), first, -1)).toEqual(first);
  expect(moved([], null, 1)).toBeNull();
});

test('a job that comes before it does not become the one that keys act on', () => {
  const cursor = moved(jobs('abc'), moved(jobs('abc'), null, 1), 1);
  expect(named('nabc', rowOf(jobs('nabc'), cursor))).toBe('b');
  expect(named('nabc', moved(jobs('nabc'), cursor, 1)?.at ?? -1)).toBe('c');
});

test('a job that is gone is no job, and the next key finds its neighbors', () => {
  const cursor = moved(jobs('abc'), moved(jobs('abc'), null, 1), 1);
  expect(rowOf(jobs('ac'), cursor)).toBe(-1);
  expect(named('ac', moved(jobs('ac'), cursor, 1)?.at ?? -1)).toBe('c');
  expect(named('ac', moved(jobs('ac'), cursor, -1)?.at ?? -1)).toBe('a');
});

import { expect, test } from 'vitest';
import type { JobDetail } from '../api/contract.gen';
import { momentOf, neighbor, recordedTime, textOf } from './recordedTime';

const T = Date.parse('2026-11-15T12:00:00Z');
const at = (seconds: number) => new Date(T + seconds * 1000).toISOString();
const job = (ended: string | null) =>
  ({
    summary: { created: at(0.4), started: at(3), ended },
    timeline: [{ replica: 'worker-0', phases: [{ name: 'Running', start: at(3), end: null, text: '' }] }],
    deleted: at(60),
    recording: null,
  }) as unknown as JobDetail;
const time = { start: T, end: T + 9000, changes: [T, T + 3000, T + 9000] };

test('the bar of a finished job ends with its last change, not with its deletion', () => {
  expect(recordedTime(job(at(9)), [])).toEqual(time);
});

test('the bar of a job that was deleted while it ran ends with the deletion', () => {
  expect(recordedTime(job(null), [])?.end).toBe(T + 60_000);
});

test('a job of which one moment is known has no bar', () => {
  const { summary } = job(null);
  const one = { ...job(null), timeline: [], deleted: null, summary: { ...summary, started: null } };
  expect(recordedTime(one, [])).toBeNull();
});

test('a moment outside of the record is its start or its end; what is no time is the end', () => {
  expect(momentOf('2026-11-15T12:00:04.9Z', time)).toBe(T + 4000);
  expect(momentOf('2020-01-01', time)).toBe(T);
  for (const text of [undefined, 'soon', '2026-11-15T12:00:09Z', '2030-01-01']) expect(momentOf(text, time)).toBeNull();
});

test('a moment is text in the address, but for the end', () => {
  expect(textOf(T + 4000, time)).toBe('2026-11-15T12:00:04Z');
  expect(textOf(time.end, time)).toBeUndefined();
});

test('the changes before and after a moment', () => {
  expect([neighbor(time, T + 3000, -1), neighbor(time, T + 4000, 1), neighbor(time, time.end, 1)]).toEqual([
    ...[T, T + 9000, undefined],
  ]);
});

import { expect, test } from 'vitest';
import type { JobDetail } from '../api/contract.gen';
import { chartOf, ticks } from './timelineScale';

const T = Date.parse('2026-11-15T12:00:00Z');
const at = (seconds: number) => new Date(T + seconds * 1000).toISOString();

function job(phases: JobDetail['timeline'][number]['phases'], ended: string | null = null): JobDetail {
  return { summary: { ended }, timeline: [{ replica: 'worker-0', phases }] } as unknown as JobDetail;
}

test('a phase that lasts ends now', () => {
  const chart = chartOf(job([{ name: 'Running', start: at(0), end: null, text: '' }]), T + 60_000);
  expect(chart).toMatchObject({ start: T, end: T + 60_000 });
  expect(chart.rows[0]?.bars[0]).toMatchObject({ end: T + 60_000, lasts: true });
});

test('the chart of a finished job does not grow', () => {
  const phases = [
    { name: 'Running' as const, start: at(0), end: at(10), text: '' },
    { name: 'Failed' as const, start: at(10), end: null, text: 'exit code 1' },
  ];
  expect(chartOf(job(phases, at(12)), T + 9_000_000).end).toBe(T + 12_000);
});

test('ticks are round and few', () => {
  expect(ticks(T, T + 60_000).length).toBeLessThanOrEqual(7);
  expect(ticks(T + 1, T + 7 * 3_600_000).every((tick) => tick % 3_600_000 === 0)).toBe(true);
});

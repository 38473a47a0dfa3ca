import { describe, expect, test } from 'vitest';
import type { UsageSeries } from '../api/contract.gen';
import { timeLeft } from '../format/time';
import { latestUsage, totalUsage } from './usageNow';

function series(replica: string, cpu: (number | null)[], cpuRequest: number | null): UsageSeries {
  return {
    replica,
    pod: replica,
    cpuRequest,
    cpuLimit: null,
    memoryRequest: 100,
    memoryLimit: null,
    times: cpu.map((_, index) => index),
    cpu,
    memory: cpu.map(() => 50),
    networkReceived: [],
    networkSent: [],
    gpu: [],
    gpuMemory: [],
  };
}

describe('what replicas use', () => {
  test('is what was measured last', () => {
    const found = latestUsage([series('worker-0', [1, 2, null], 4)]);
    expect(found.get('worker-0')).toEqual({ cpu: 2, memory: 50 });
  });

  test('together, with what they request if all request something', () => {
    const both = [series('worker-0', [1], 4), series('worker-1', [0.5], 2)];
    expect(totalUsage(both)).toEqual({ cpu: 1.5, memory: 100, cpuRequest: 6, memoryRequest: 200 });
    expect(totalUsage([...both, series('worker-2', [1], null)])?.cpuRequest).toBeNull();
    expect(totalUsage([])).toBeNull();
  });
});

describe('the time that is left', () => {
  const started = '2026-01-01T00:00:00Z';
  const now = Date.parse(started) + 600_000;
  test.each([
    [0.5, '10m'],
    [0.8, '2m30s'],
    [0.01, ''],
    [1, ''],
  ])('after %s in ten minutes: %s', (fraction, left) => expect(timeLeft(started, fraction, now)).toBe(left));
  test('of a job that has not started', () => expect(timeLeft(null, 0.5, now)).toBe(''));
});

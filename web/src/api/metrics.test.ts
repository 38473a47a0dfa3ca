import { expect, test } from 'vitest';
import type { JobMetrics, UsageSeries } from './contract.gen';
import { patchMetrics } from './metrics';

const usage = (replica: string, times: number[], cpu: number[]): UsageSeries => ({
  replica,
  pod: `job-${replica}`,
  cpuRequest: 1,
  cpuLimit: null,
  memoryRequest: null,
  memoryLimit: null,
  times,
  cpu,
  memory: times.map(() => 1),
  networkReceived: [],
  networkSent: [],
  gpu: [],
  gpuMemory: [],
});
const metrics = (...series: UsageSeries[]): JobMetrics => ({
  usage: series,
  output: [],
  interval: 5,
  unavailable: '',
  errors: [],
});

test('new points follow the old ones, and a new series is complete', () => {
  const before = metrics(usage('worker-0', [1, 2], [0.1, 0.2]));
  const after = patchMetrics(before, metrics(usage('worker-0', [3], [0.3]), usage('worker-1', [3], [0.9])));
  expect(after.usage.map((each) => [each.replica, each.times, each.cpu])).toEqual([
    ['worker-0', [1, 2, 3], [0.1, 0.2, 0.3]],
    ['worker-1', [3], [0.9]],
  ]);
});

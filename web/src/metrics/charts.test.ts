import { expect, test } from 'vitest';
import type { JobMetrics } from '../api/contract.gen';
import { aligned, chartsOf, csv, latest, rangeOf, shown, ticksOf, timesOf } from './charts';

const usage = {
  replica: 'worker-0',
  pod: 'p',
  cpuRequest: null,
  cpuLimit: 2,
  memoryRequest: null,
  memoryLimit: null,
  times: [1000, 2000],
  cpu: [0.5, null],
  memory: [null, null],
  networkReceived: [],
  networkSent: [],
  gpu: [],
  gpuMemory: [],
};
const metrics: JobMetrics = {
  usage: [usage, { ...usage, replica: 'worker-1', cpuLimit: 4 }],
  output: [
    { name: 'world', replica: 'worker-0', times: [1500], values: [2], steps: [null], line: 'world=2' },
    { name: 'lo,ss', replica: 'worker-0', times: [1500, 1600], values: [2.3, 2.2], steps: [1, 2], line: 'loss 2.2' },
  ],
  interval: 5,
  unavailable: '',
  errors: [],
};

test('there is a chart for each quantity that was measured, and the printed ones say that they are guessed', () => {
  expect(chartsOf(metrics).map((each) => [each.name, each.guessed, each.lines.length, each.limit])).toEqual([
    ['lo,ss', true, 1, null],
    ['cpu', false, 2, 2],
  ]);
});

test('a replica that prints later than the others stands where it stands in the job', () => {
  const loss = { name: 'loss', times: [1, 2], values: [1, 2], steps: [1, 2], line: 'loss 2' };
  const output = ['worker-2', 'worker-1', 'worker-0'].map((replica) => ({ ...loss, replica }));
  expect(chartsOf({ ...metrics, output })[0]?.lines.map((each) => each.replica)).toEqual([
    'worker-0',
    'worker-1',
    'worker-2',
  ]);
});

test('lines with different times share one axis', () => {
  const a = { replica: 'a', times: [1000, 3000], values: [1, 3] };
  const b = { replica: 'b', times: [2000], values: [2] };
  expect(aligned([a, b], 'cores')).toEqual([
    [1, 2, 3],
    [1, undefined, 3],
    [undefined, 2, undefined],
  ]);
  expect([latest({ ...a, values: [1, null] }), latest({ ...a, values: [null, null] })]).toEqual([1, null]);
});

test('a time without samples, and a sample without a value, interrupt the line', () => {
  const paused = { replica: 'a', times: [0, 5000, 10_000, 300_000, 305_000], values: [1, 2, 3, 4, null] };
  expect(aligned([paused], 'cores')).toEqual([
    [0, 5, 10, 299.999, 300, 305],
    [1, 2, 3, null, 4, null],
  ]);
});

test('amounts', () => {
  expect([shown(0.5, 'cores'), shown(2 ** 31, 'bytes'), shown(1536, 'bytesPerSecond')]).toEqual([
    '0.50',
    '2Gi',
    '1.5Ki/s',
  ]);
  expect([shown(0.97, 'fraction'), shown(2.301, 'number'), shown(null, 'bytes')]).toEqual(['97%', '2.301', '']);
});

test('all points as CSV', () => {
  expect(csv(chartsOf(metrics)).split('\n').slice(0, 3)).toEqual([
    'time,replica,series,value',
    '1970-01-01T00:00:01.500Z,worker-0,"lo,ss",2.3',
    '1970-01-01T00:00:01.600Z,worker-0,"lo,ss",2.2',
  ]);
});

test.each([
  ['cores', 0.0001, 0.0002, [0, 0.1]],
  ['cores', 1, 2, [0, 2.2]],
  ['bytes', 3_000_000, 3_000_100, [0, 3_300_110]],
  ['number', 1, 2, [0.9, 2.1]],
  ['number', 2, 2, [1.8, 2.2]],
  ['number', 0, 0, [0, 1]],
  ['number', -1, 1, [-1.2, 1.2]],
] as const)('the y axis of %s from %d to %d', (unit, low, high, [first, last]) => {
  const found = rangeOf(unit, low, high);
  expect(found[0]).toBeCloseTo(first);
  expect(found[1]).toBeCloseTo(last);
});

test('ticks of memory are whole numbers of their unit', () => {
  const steps = ticksOf('bytes').incrs ?? [];
  expect(steps.slice(20, 22).map((step) => shown(step, 'bytes'))).toEqual(['1Mi', '2Mi']);
  expect(ticksOf('cores')).toEqual({});
});

test('what was measured at once has an axis of seconds', () => {
  expect(timesOf(100, 100)).toEqual([90, 100]);
  expect(timesOf(100.1, 100.2)[1]).toBe(100.2);
  expect(timesOf(100, 400)).toEqual([100, 400]);
});

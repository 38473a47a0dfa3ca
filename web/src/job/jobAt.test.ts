import { expect, test } from 'vitest';
import type { ConditionChange, Event, JobDetail, JobMetrics, Phase, Replica } from '../api/contract.gen';
import { jobAt, linesAt, metricsAt } from './jobAt';

const T = Date.parse('2026-11-15T12:00:00Z');
const second = (seconds: number) => T + seconds * 1000;
const at = (seconds: number) => new Date(second(seconds)).toISOString();
const change = (type: string, status: string, seconds: number): ConditionChange => ({
  ...{ type, status, reason: `Job${type}`, message: '' },
  time: at(seconds),
});
const event = (reason: string, first: number, last: number): Event =>
  ({ reason, first: at(first), last: at(last), count: 3 }) as Event;

const PHASES: Phase[] = [
  { name: 'Pending', start: at(1), end: at(2), text: '' },
  { name: 'Starting', start: at(2), end: at(3), text: '' },
  { name: 'Running', start: at(3), end: at(8), text: '' },
  { name: 'Failed', start: at(8), end: at(8), text: 'exit code 1 (Error)' },
];
const CHANGES = [
  change('Created', 'True', 0),
  change('Running', 'True', 3),
  change('Running', 'False', 9),
  change('Failed', 'True', 9),
];
const container = { name: 'jax', state: 'Terminated', restarts: 0, exitCode: 1, started: at(3), ended: at(8) };
const worker = {
  ...{ name: 'worker-0', state: 'Failed', why: 'exit code 1', pod: 'a-worker-0', node: 'n', ip: '10.0.0.1' },
  ...{ exitCode: 1, restarts: 0, created: at(1), started: at(3), ended: at(8), containers: [container] },
} as Replica;
const job = {
  summary: { status: 'Failed', stalled: '', attempt: 1, started: at(3), ended: at(9), replicas: { total: 1 } },
  replicas: [worker],
  timeline: [{ replica: 'worker-0', phases: PHASES }],
  diagnosis: { failure: { time: at(8), final: true }, causes: ['worker-0 failed'] },
  events: [event('Created', 1, 1), event('BackOff', 4, 8)],
  conditions: [],
  restarts: { charged: 0, limit: null, disruptions: 0 },
} as unknown as JobDetail;

test.each([
  [0, 'Starting', 'Missing', 0],
  [1, 'Starting', 'Pending', 1],
  [2, 'Starting', 'Starting', 1],
  [3, 'Running', 'Running', 1],
  [8, 'Running', 'Failed', 2],
  [9, 'Failed', 'Failed', 2],
])('after %i s the job is %s and its replica %s', (seconds, status, state, events) => {
  const shown = jobAt(job, CHANGES, second(seconds));
  expect(shown.summary.status).toBe(status);
  expect(shown.replicas[0]?.state).toBe(state);
  expect(shown.events).toHaveLength(events);
});

test('a job that runs shows nothing of its end', () => {
  const shown = jobAt(job, CHANGES, second(5));
  expect(shown.summary).toMatchObject({ ended: null, why: null, replicas: { running: 1, failed: 0 } });
  expect(shown.diagnosis).toMatchObject({ failure: null, causes: [] });
  expect(shown.replicas[0]).toMatchObject({
    exitCode: null,
    why: '',
    containers: [{ state: 'Running', exitCode: null }],
  });
  expect(shown.timeline[0]?.phases.at(-1)).toMatchObject({ name: 'Running', end: null });
  expect(shown.events[1]).toMatchObject({ reason: 'BackOff', last: at(4), count: 1 });
  expect(shown.conditions.map((each) => each.type)).toEqual(['Created', 'Running']);
});

test('a job that restarted is in its attempt of then', () => {
  const restarted = [...CHANGES.slice(0, 2), change('Restarting', 'True', 5), change('Running', 'True', 7)];
  const later = { ...job, summary: { ...job.summary, attempt: 2 }, restarts: { ...job.restarts, charged: 1 } };
  expect(jobAt(later, restarted, second(4))).toMatchObject({ summary: { attempt: 1 }, restarts: { charged: 0 } });
  expect(jobAt(later, restarted, second(6)).summary).toMatchObject({ attempt: 2, status: 'Restarting' });
});

test('the phases of an earlier pod are those of its replica, without the facts of the present pod', () => {
  const replaced = { ...job, replicas: [{ ...worker, created: at(20), started: at(21), ended: at(22) }] };
  expect(jobAt(replaced, CHANGES, second(4)).replicas[0]).toMatchObject({ state: 'Running', pod: '', containers: [] });
});

test('the status is unknown before the first change if older ones are not kept', () => {
  expect(jobAt(job, CHANGES.slice(2), second(1)).summary.status).toBe('Unknown');
});

test('without changes, a job whose replica runs is running', () => {
  expect(jobAt(job, CHANGES.slice(2), second(4)).summary.status).toBe('Running');
});

test('samples and lines end with the second of the moment', () => {
  const usage = [{ replica: 'worker-0', times: [second(1), second(5)], cpu: [1, 2], gpu: [] }];
  const output = [{ replica: 'worker-0', times: [second(2), second(5) + 900], values: [1, 2] }];
  const shown = metricsAt({ usage, output } as unknown as JobMetrics, second(4));
  expect(shown).toMatchObject({ usage: [{ cpu: [1], gpu: [] }], output: [{ values: [1] }] });
  const lines = [{ time: at(1) }, { time: '' }, { time: '2026-11-15T12:00:04.900000001Z' }, { time: at(5) }];
  expect([0, 1, 4, 9].map((seconds) => linesAt(lines, second(seconds)))).toEqual([0, 1, 3, 4]);
});

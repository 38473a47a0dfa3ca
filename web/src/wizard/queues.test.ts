import { expect, test } from 'vitest';
import type { Queue } from '../api/contract.gen';
import { edited } from './manifest';
import { form, starter } from './mpiManifest';
import { policyPath, QUEUE } from './projection';
import { queueOf, setQueue, withoutQueue } from './queues';

const queue = (system: Queue['system'], name: string): Queue => ({
  system,
  name,
  namespace: system === 'kueue' ? 'default' : '',
  clusterQueue: '',
  cohort: '',
  strategy: '',
  active: true,
  message: '',
  pending: 0,
  admitted: 0,
  resources: [],
  jobs: [],
});
const kueue = queue('kueue', 'team-a');
const volcano = queue('volcano', 'gpus');
const named = (text: string, name: string, queues: Queue[]) => edited(text, setQueue(form(text), name, queues));
const policyOf = (text: string) => form(text).spec.runPolicy;

test('a queue of Volcano is named in the scheduling policy', () => {
  const text = named(starter, 'gpus', [kueue, volcano]);
  expect(policyOf(text)).toEqual({ cleanPodPolicy: 'Running', schedulingPolicy: { queue: 'gpus' } });
  expect(form(text).labels).toEqual({});
  expect(queueOf(form(text))).toEqual({ system: 'volcano', name: 'gpus' });
});

test('a queue of Kueue is named by the label', () => {
  const text = named(starter, 'team-a', [kueue, volcano]);
  expect(form(text).labels).toEqual({ [QUEUE]: 'team-a' });
  expect(policyOf(text)).toEqual({ cleanPodPolicy: 'Running' });
});

test('typed letter by letter, only the queue that is meant remains', () => {
  let text = named(starter, 'team-a', [kueue, volcano]);
  for (const typed of ['g', 'gp', 'gpu', 'gpus']) text = named(text, typed, [kueue, volcano]);
  expect([form(text).labels, queueOf(form(text))?.system]).toEqual([{}, 'volcano']);
  expect(named(text, '', [kueue, volcano])).toBe(edited(starter, []));
});

test('a name that the cluster does not list belongs to its only system, or to the one named before', () => {
  expect(queueOf(form(named(starter, 'other', [volcano])))?.system).toBe('volcano');
  expect(queueOf(form(named(starter, 'other', [])))?.system).toBe('kueue');
  const text = named(starter, 'gpus', [volcano]);
  expect(queueOf(form(named(text, 'other', [])))).toEqual({ system: 'volcano', name: 'other' });
});

test('a policy outside of the run policy is changed where it is', () => {
  const old = edited(starter, [[['spec', 'schedulingPolicy'], { minAvailable: 2 }]]);
  expect(policyPath(form(old), 'schedulingPolicy')).toEqual(['spec', 'schedulingPolicy']);
  const text = named(old, 'gpus', [volcano]);
  expect(form(text).spec.schedulingPolicy).toEqual({ minAvailable: 2, queue: 'gpus' });
});

test('on another machine there is no queue of either system', () => {
  const text = named(starter, 'gpus', [volcano]);
  expect(queueOf(form(edited(text, withoutQueue(form(text)))))).toBeNull();
});

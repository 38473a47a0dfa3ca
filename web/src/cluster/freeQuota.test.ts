import { expect, test } from 'vitest';
import type { Queue, QueueResource } from '../api/contract.gen';
import { freeQuota, queuesOf } from './freeQuota';

const resource = (name: string, quota: string, used: string, flavor = ''): QueueResource => ({
  resource: name,
  flavor,
  quota,
  used,
  borrowed: '',
  wanted: '',
});
const queue = (name: string, namespace: string, ...resources: QueueResource[]): Queue => ({
  system: 'kueue',
  name,
  namespace,
  clusterQueue: '',
  cohort: '',
  strategy: '',
  active: true,
  message: '',
  pending: 0,
  admitted: 0,
  resources,
  jobs: [],
});

test('what is free is summed up over flavors, and never below zero', () => {
  const found = queue(
    'a',
    'team',
    resource('cpu', '8', '4500m', 'spot'),
    resource('cpu', '2', '3', 'fixed'),
    resource('memory', '4Gi', '1Gi'),
    resource('nvidia.com/gpu', '', '3'),
  );
  expect(freeQuota(found)).toBe('3.5 cpu · 3Gi memory');
});

test('a queue whose quota nobody may read has no text', () => {
  expect(freeQuota(queue('a', 'team'))).toBe('');
});

test('a namespace has its own queues and those of no namespace', () => {
  const queues = [queue('a', 'team'), queue('b', 'other'), queue('c', '')];
  expect(queuesOf(queues, 'team').map((each) => each.name)).toEqual(['a', 'c']);
});

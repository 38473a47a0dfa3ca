import { expect, test } from 'vitest';
import { pagesOf, replicaState, searchOf } from './replicaRows';

test('the pages of the rows in view', () => {
  expect(pagesOf(0, 0)).toEqual([0]);
  expect(pagesOf(190, 210)).toEqual([0, 1]);
  expect(pagesOf(9_990, 9_999)).toEqual([49]);
});

test('addresses with other words select nothing', () => {
  expect(replicaState('Failed')).toBe('Failed');
  expect(replicaState('<script>')).toBeUndefined();
  expect(searchOf('', undefined)).toEqual({});
  expect(searchOf('Worker', 'Failed')).toEqual({ role: 'Worker', state: 'Failed' });
});

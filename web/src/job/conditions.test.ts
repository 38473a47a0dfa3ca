import { expect, test } from 'vitest';
import type { Condition, ConditionChange } from '../api/contract.gen';
import { changesOf } from './conditions';

const change = (type: string, status: string, second: number): ConditionChange => ({
  ...{ type, status, reason: `Job${type}`, message: '' },
  time: `2026-01-01T00:00:0${second}Z`,
});
const present = (type: string, status: string, second: number): Condition => {
  const { time, ...rest } = change(type, status, second);
  return { ...rest, since: time };
};
const words = (changes: readonly ConditionChange[]) => changes.map((each) => `${each.type} ${each.status}`);

test('changes of the recorder, the newest first; of the same second, the later one', () => {
  const recorded = [change('Created', 'True', 1), change('Running', 'True', 2), change('Running', 'False', 5)];
  expect(words(changesOf([...recorded, change('Succeeded', 'True', 5)], []))).toEqual([
    'Succeeded True',
    'Running False',
    'Running True',
    'Created True',
  ]);
});

test('a condition that the recorder has not written yet is there', () => {
  const recorded = [change('Created', 'True', 1)];
  expect(words(changesOf(recorded, [present('Created', 'True', 1), present('Running', 'True', 3)]))).toEqual([
    'Running True',
    'Created True',
  ]);
});

test('without a recorder, the present conditions are what is known', () => {
  expect(words(changesOf([], [present('Created', 'True', 1), present('Failed', 'True', 4)]))).toEqual([
    'Failed True',
    'Created True',
  ]);
});

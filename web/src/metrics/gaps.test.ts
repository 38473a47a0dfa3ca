import { expect, test } from 'vitest';
import { afterPauses, lonely } from './gaps';

const SECOND = 1000;

/** Times whose steps are these, in seconds. */
function after(...steps: number[]): number[] {
  let time = 0;
  return [0, ...steps.map((step) => (time += step * SECOND))];
}

test.each([
  ['regular samples', after(5, 5, 5, 5), []],
  ['a sample that is missing or late', after(5, 10, 5, 15, 5), []],
  ['a minute without samples', after(5, 5, 60, 5, 5), [3]],
  ['one sample between two pauses', after(5, 5, 300, 300, 5, 5), [3, 4]],
  ['older samples, of which fewer are kept', after(60, 60, 60, 60, 5, 5, 5, 5), []],
  ['a pause among older samples', after(60, 60, 60, 600, 60, 60, 5, 5), [4]],
  ['a pause at the begin', after(300, 5, 5), [1]],
  ['two samples alone', after(300), []],
  ['nothing', [], []],
])('what is sampled: %s', (_, times, found) => {
  expect(afterPauses(times, 'cores')).toEqual(found);
});

test.each([
  ['an epoch that takes longer than the others', after(20, 20, 90, 20), []],
  ['one number in ten minutes', after(600, 600, 600), []],
  ['a job that was suspended for an hour', after(20, 20, 3600, 20), [3]],
])('what is printed: %s', (_, times, found) => {
  expect(afterPauses(times, 'number')).toEqual(found);
});

test('a value between two pauses is drawn as a point', () => {
  expect(lonely([1, 2, undefined, null, undefined, 3, null, 4, 5])).toEqual([5]);
  expect(lonely([7])).toEqual([0]);
  expect(lonely([null, undefined])).toEqual([]);
});

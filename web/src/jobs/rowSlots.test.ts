import { expect, test } from 'vitest';
import { assignSlots, rowsInView } from './rowSlots';

test('rows that stay in view keep their element, others get one that is free', () => {
  const before = assignSlots(new Map(), ['a', 'b', 'c']);
  expect([...before]).toEqual([
    ['a', 0],
    ['b', 1],
    ['c', 2],
  ]);
  expect([...assignSlots(before, ['b', 'c', 'd'])]).toEqual([
    ['b', 1],
    ['c', 2],
    ['d', 0],
  ]);
});

test('no two rows share an element, whatever order they come in', () => {
  let slots = assignSlots(new Map(), ['a', 'b', 'c', 'd']);
  for (const ids of [['d', 'e'], ['x', 'd', 'a'], [], ['a', 'b', 'c', 'd', 'e', 'f'], ['f', 'a']]) {
    slots = assignSlots(slots, ids);
    expect([...slots.keys()]).toEqual(ids);
    expect(new Set(slots.values()).size).toBe(ids.length);
  }
});

test('a view that jumps uses the same elements for other rows', () => {
  const before = assignSlots(new Map(), ['a', 'b', 'c']);
  expect([...assignSlots(before, ['x', 'y', 'z']).values()]).toEqual([0, 1, 2]);
});

test.each([
  [0, 500, 1000, { first: 0, end: 12 }],
  [1025, 500, 1000, { first: 18, end: 33 }],
  [49_500, 500, 1000, { first: 988, end: 1000 }],
  [0, 500, 3, { first: 0, end: 3 }],
  [0, 500, 0, { first: 0, end: 0 }],
  [49_500, 500, 20, { first: 19, end: 20 }], // a filter has made the list shorter
])('at %d of height %d, of %d rows', (top, height, count, found) => {
  expect(rowsInView(top, height, 50, count, 2)).toEqual(found);
});

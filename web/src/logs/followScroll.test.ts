import { expect, test } from 'vitest';
import { followAfter } from './followScroll';

const at = (scrollTop: number) => ({ scrollTop, scrollHeight: 1000, clientHeight: 200 });

test.each([
  ['a page up leaves the end', 800, 600, false],
  ['the end is followed again', 600, 800, true],
  ['a fraction of a pixel before the end is the end', 600, 799.5, true],
  ['a way down in the middle says nothing', 300, 500, null],
  ['lines that came below say nothing', 400, 400, null],
])('%s', (_, before, after, follow) => {
  expect(followAfter(before, at(after))).toBe(follow);
});

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isSingleKey } from './shortcuts';

test.each([
  ['j', true],
  ['/', true],
  ['shift+?', true],
  ['1', true],
  ['mod+K', false],
  ['Enter', false],
])('%j is a key of one character: %j', (keys, single) => {
  expect(isSingleKey(keys)).toBe(single);
});

test('all keys of the page can be turned off', () => {
  const root = join(import.meta.dirname, '..');
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((each) =>
    /(?<!\.test)\.tsx?$/.test(each),
  );
  const direct = files.filter((each) => readFileSync(join(root, each), 'utf8').includes('useHotkeys'));
  expect(direct).toEqual([join('shell', 'shortcuts.ts')]);
});

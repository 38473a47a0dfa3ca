import { expect, test } from 'vitest';
import { directoryOf, installOf } from './startCommand';
import { shownText } from './useTypedText';

test.each([
  ['pip ', 'pip', installOf],
  ['pip install a\n', 'pip install a', installOf],
  ['/opt/', '/opt', directoryOf],
  ['/', '', directoryOf],
])('%j stays as it is typed while the value is %j', (text, value, meaning) => {
  expect(meaning(text)).toBe(value);
  expect(shownText(text, value, meaning)).toBe(text);
});

test('a value that was changed elsewhere replaces what was typed', () => {
  expect(shownText('/opt/', '/srv', directoryOf)).toBe('/srv');
});

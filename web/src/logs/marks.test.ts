import { expect, test } from 'vitest';
import { marked } from './marks';

const span = (text: string) => ({ text, style: {} });
const shown = (spans: string[], matcher: RegExp | null) =>
  marked(spans.map(span), matcher).map((each) => (each.marked ? `[${each.text}]` : each.text));

test('no match leaves the line whole', () => {
  expect(shown(['loss 0.5'], /nan/gi)).toEqual(['loss 0.5']);
});

test('every match is marked', () => {
  expect(shown(['nan, then NaN'], /nan/gi)).toEqual(['[nan]', ', then ', '[NaN]']);
});

test('a match reaches over colours', () => {
  expect(shown(['lo', 'ss', ' x'], /loss/gi)).toEqual(['[lo]', '[ss]', ' x']);
});

test('an expression that matches nothing ends', () => {
  expect(shown(['abc'], /x*/gi)).toEqual(['abc']);
});

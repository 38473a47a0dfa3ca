import { expect, test } from 'vitest';
import { between, duration, since } from './time';

test.each([
  [0, '0s'],
  [119_000, '119s'],
  [125_000, '2m5s'],
  [300_000, '5m'],
  [720_000, '12m'],
  [3 * 3600_000, '3h'],
  [3 * 3600_000 + 61_000, '3h1m'],
  [20 * 3600_000, '20h'],
  [3 * 86_400_000 + 3600_000, '3d1h'],
  [30 * 86_400_000, '30d'],
  [-5, '0s'],
])('%d ms is %s', (milliseconds, text) => {
  expect(duration(milliseconds)).toBe(text);
});

test('a time that is not known has no age', () => {
  expect(since(null, Date.now())).toBe('');
});

test('a phase that lasts is measured until now', () => {
  expect(between('2026-01-01T00:00:00Z', null, Date.parse('2026-01-01T00:00:30Z'))).toBe('30s');
});

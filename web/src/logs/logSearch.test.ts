import { expect, test } from 'vitest';
import {
  lineFragment,
  lineOfFragment,
  logQuery,
  matcherOf,
  mayHaveOlder,
  readLogSearch,
  timeOfLine,
} from './logSearch';

test('what cannot be read is ignored', () => {
  expect(readLogSearch({ level: 'loud', q: '', regex: 'yes', t: 'then', replica: 'worker-0', all: 1 })).toEqual({
    replica: 'worker-0',
    all: '1',
  });
});

test('the server selects the lines', () => {
  const query = logQuery(readLogSearch({ replica: 'worker-0,launcher', level: 'warning', q: 'a&b', regex: '1' }));
  expect(query.toString()).toBe('replica=worker-0%2Clauncher&level=warning&q=a%26b&regex=1&tail=5000');
});

test('a moment has lines around it; what is saved begins with it', () => {
  const search = readLogSearch({ t: '2026-11-15T14:02:28Z', all: '1' });
  expect(logQuery(search).toString()).toBe('at=2026-11-15T14%3A02%3A28Z&tail=20000');
  expect(logQuery(search, true).toString()).toBe('since=2026-11-15T14%3A02%3A28Z');
});

test('the time of a linked line is that of its moment', () => {
  expect(timeOfLine('1763215348123456789-000002')).toBe('2025-11-15T14:02:28.123Z');
});

test('with other lines in view, the text is only marked', () => {
  expect(logQuery({ q: 'nan', context: '1' }).has('q')).toBe(false);
});

test('a text is not a regular expression', () => {
  expect('loss (nan)'.match(matcherOf({ q: '(nan)' }) ?? '')?.[0]).toBe('(nan)');
});

test('a broken regular expression matches nothing and breaks nothing', () => {
  expect(matcherOf({ q: '(', regex: '1' })).toBeNull();
});

test('a line is found again by its fragment', () => {
  const line = { source: 'worker-0/pytorch', sequence: '0000012-0001' };
  expect(lineOfFragment(`#${lineFragment(line)}`)).toEqual(line);
  expect(lineOfFragment('#token=abc')).toBeNull();
});

test('the run before has no window, and unknown views are ignored', () => {
  expect(readLogSearch({ mode: 'consensus', wrap: '1', previous: '1' })).toEqual({
    mode: 'consensus',
    wrap: '1',
    previous: '1',
  });
  expect(readLogSearch({ mode: 'split', wrap: '2' })).toEqual({});
  expect(logQuery({ previous: '1' }).toString()).toBe('previous=1');
});

test.each([
  [{}, [10, 4999], false],
  [{}, [10, 5000], true],
  [{}, [], false],
  [{ level: 'error' }, [3], false],
  [{ q: 'nan' }, [5000], true],
  [{ all: '1' }, [100_000], false],
  [{ t: '2026-11-15T14:02:28Z' }, [100_000], false],
] as const)('with %o and logs of %o lines, older lines may be there: %s', (search, counts, expected) => {
  expect(mayHaveOlder(search, new Map(counts.map((count, at) => [`worker-${at}`, count])))).toBe(expected);
});

import { describe, expect, test } from 'vitest';
import type { LogLine } from '../api/contract.gen';
import { LogWindow } from './logWindow';

function line(replica: string, sequence: number, time: number, text = `${replica} ${sequence}`): LogLine {
  const digits = (value: number) => String(value).padStart(12, '0');
  return {
    replica,
    source: `${replica}/main`,
    sequence: digits(sequence),
    time: `2026-11-15T12:00:${digits(time)}Z`,
    text,
    level: '',
    bytes: 0,
  };
}

const add = (window: LogWindow, ...lines: LogLine[]) => window.add({ lines, sources: [], skipped: 0 });
const texts = (window: LogWindow) => window.lines.map((each) => each.text);

describe('lines of all replicas are merged by time', () => {
  test('in order', () => {
    const window = new LogWindow();
    add(window, line('a', 1, 1), line('b', 1, 2), line('a', 2, 3));
    expect(texts(window)).toEqual(['a 1', 'b 1', 'a 2']);
  });

  test('a late line goes to its place', () => {
    const window = new LogWindow();
    add(window, line('a', 1, 1), line('a', 2, 5), line('a', 3, 6));
    add(window, line('b', 1, 2), line('b', 2, 5), line('b', 3, 9));
    expect(texts(window)).toEqual(['a 1', 'b 1', 'a 2', 'b 2', 'a 3', 'b 3']);
  });

  test('lines of one log never change their order, even if their clock goes back', () => {
    const window = new LogWindow();
    add(window, line('a', 1, 9));
    add(window, line('a', 2, 3));
    expect(texts(window)).toEqual(['a 1', 'a 2']);
  });

  test('a line that comes twice is shown once', () => {
    const window = new LogWindow();
    add(window, line('a', 1, 1), line('a', 2, 2));
    add(window, line('a', 2, 2), line('a', 3, 3));
    expect(texts(window)).toEqual(['a 1', 'a 2', 'a 3']);
    expect(window.positions()).toEqual({ 'a/main': '000000000003' });
  });
});

test('the oldest lines are forgotten', () => {
  const window = new LogWindow(100);
  for (let i = 0; i < 250; i++) add(window, line('a', i, i));
  expect(window.lines.length).toBeLessThanOrEqual(100);
  expect(window.lines.length + window.dropped).toBe(250);
  expect(window.lines.at(-1)?.text).toBe('a 249');
});

test('a window has room for a million lines', () => {
  const window = new LogWindow();
  for (let i = 0; i < 1000; i++)
    add(window, ...Array.from({ length: 1000 }, (_, k) => line('a', i * 1000 + k, i * 1000 + k, '')));
  expect(window.lines.length).toBe(1_000_000);
});

import { expect, test } from 'vitest';
import { withRetries } from './retry';

const always = () => true;

function failing(times: number): { calls: number; attempt: () => Promise<string> } {
  const found = {
    calls: 0,
    attempt: async () => {
      found.calls += 1;
      if (found.calls <= times) throw new TypeError(`failure ${found.calls}`);
      return 'an answer';
    },
  };
  return found;
}

test('a request that fails twice is answered by the third attempt', async () => {
  const request = failing(2);
  expect(await withRetries(request.attempt, always, undefined, [1, 1, 1])).toBe('an answer');
  expect(request.calls).toBe(3);
});

test('after the last attempt the error is that of the last attempt', async () => {
  const request = failing(9);
  await expect(withRetries(request.attempt, always, undefined, [1, 1])).rejects.toThrow('failure 3');
  expect(request.calls).toBe(3);
});

test('an error that does not pass is thrown at once', async () => {
  const request = failing(1);
  await expect(withRetries(request.attempt, () => false, undefined, [1])).rejects.toThrow('failure 1');
  expect(request.calls).toBe(1);
});

test('a request that is not wanted any more is not tried for long', async () => {
  const request = failing(9);
  const controller = new AbortController();
  const waiting = withRetries(request.attempt, always, controller.signal, [1_000_000, 1_000_000]);
  setTimeout(() => controller.abort(), 5);
  await expect(waiting).rejects.toThrow('failure 2');
});

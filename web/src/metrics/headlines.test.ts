import { expect, test } from 'vitest';
import type { Chart } from './charts';
import { headlines } from './headlines';

const chart = (name: string, guessed = true): Chart => ({ name, unit: 'number', guessed, lines: [], limit: null });
const namesOf = (...names: string[]) => headlines(names.map((name) => chart(name))).map((each) => each.name);

test.each([
  [
    ['accuracy', 'loss', 'images/sec'],
    ['loss', 'images/sec'],
  ],
  [
    ['samples_per_second', 'val_loss', 'loss'],
    ['loss', 'samples_per_second'],
  ],
  [['eval_loss', 'train_loss'], ['train_loss']],
  [['throughput'], ['throughput']],
  [['it/s'], ['it/s']],
  [['tokens per sec'], ['tokens per sec']],
  [['steps', 'flops', 'closs', 'accuracy'], []],
])('%j', (printed, shown) => {
  expect(namesOf(...printed)).toEqual(shown);
});

test('what the node measures is no number of the output', () => {
  expect(headlines([chart('loss', false)])).toEqual([]);
});

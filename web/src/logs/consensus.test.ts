import { expect, test } from 'vitest';
import type { LogLine } from '../api/contract.gen';
import { COMPARED, consensus } from './consensus';

let sequence = 0;
const line = (replica: string, text: string): LogLine => ({
  replica,
  source: `${replica}/main`,
  sequence: String(sequence++).padStart(9, '0'),
  time: '2026-01-01T00:00:00Z',
  text,
  level: '',
  bytes: 0,
});
const ranks = (count: number, text: (rank: number) => string) =>
  Array.from({ length: count }, (_, rank) => line(`worker-${rank}`, text(rank)));
const shown = (lines: LogLine[]) => consensus(lines).map((each) => [each.replicas.length, each.text, each.odd]);

test('what all replicas print is shown once', () => {
  expect(shown(ranks(64, () => 'step=41200 lr=3e-4'))).toEqual([[64, 'step=41200 lr=3e-4', false]]);
});

test('numbers that differ are their mean and how far they are from it', () => {
  const lines = ranks(2, (rank) => `step=1 loss=${rank === 0 ? '2.305' : '2.297'}`);
  expect(shown(lines)).toEqual([[2, 'step=1 loss=2.301 ±0.004', false]]);
});

test('a replica whose loss is not a number stands out', () => {
  const lines = ranks(64, (rank) => `step=41201 loss=${rank === 5 ? 'nan' : '2.300'}`);
  const found = consensus(lines);
  expect(found.map((each) => [each.replicas.length, each.odd])).toEqual([
    [63, false],
    [1, true],
  ]);
  expect(found[1]).toMatchObject({ replica: 'worker-5', text: 'step=41201 loss=nan' });
});

test('a number far from all others stands out', () => {
  const lines = ranks(8, (rank) => `step 7 took ${rank === 3 ? 4.1 : 0.4 + rank / 1000} s`);
  expect(consensus(lines).filter((each) => each.odd)[0]?.replica).toBe('worker-3');
});

test('replicas at different steps are compared step by step', () => {
  const lines = [
    line('a', 'step 1 loss 3'),
    line('a', 'step 2 loss 2'),
    line('b', 'step 1 loss 3'),
    line('b', 'step 2 loss 2'),
  ];
  expect(shown(lines)).toEqual([
    [2, 'step 1 loss 3', false],
    [2, 'step 2 loss 2', false],
  ]);
});

test('a line of one replica stays as it is, and a line that is repeated is repeated', () => {
  const lines = [line('a', 'saved \u001b[32mok\u001b[0m'), line('b', 'hello'), line('b', 'hello'), line('a', 'hello')];
  expect(shown(lines)).toEqual([
    [1, 'saved \u001b[32mok\u001b[0m', false],
    [2, 'hello', false],
    [1, 'hello', false],
  ]);
});

test('only the last lines are compared', () => {
  const many = Array.from({ length: COMPARED + 10 }, (_, at) => line('a', `x ${at}`));
  expect(consensus(many)).toHaveLength(COMPARED);
});

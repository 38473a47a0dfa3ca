// Where the line of a chart is interrupted: a time without samples has no line. Pure.

import type { Unit } from './charts';

/** Steps on each side that tell how often was measured then: older samples are further apart. */
const AROUND = 5;
/** Longer than the steps around it by so much is a pause. Programs print less regularly than a sampler measures. */
const SAMPLED = { factor: 3, least: 20_000 };
const PRINTED = { factor: 10, least: 60_000 };

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/** Positions of the first sample after each pause. Times in ms, ascending. */
export function afterPauses(times: readonly number[], unit: Unit): number[] {
  const { factor, least } = unit === 'number' ? PRINTED : SAMPLED;
  const steps = times.slice(1).map((time, index) => time - (times[index] ?? time));
  return steps.flatMap((step, index) => {
    if (step <= least) return [];
    const before = median(steps.slice(Math.max(0, index - AROUND), index));
    const after = median(steps.slice(index + 1, index + 1 + AROUND));
    const usual = Math.max(before, after);
    return usual > 0 && step > factor * usual ? [index + 1] : [];
  });
}

/** Positions of values without a neighbour to draw a line to. undefined: another line was measured then, null: a pause. */
export function lonely(column: readonly (number | null | undefined)[]): number[] {
  const known = column.flatMap((value, at) => (value === undefined ? [] : [{ value, at }]));
  return known
    .filter(({ value }, at) => value !== null && known[at - 1]?.value == null && known[at + 1]?.value == null)
    .map(({ at }) => at);
}

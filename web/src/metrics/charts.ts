// The metrics of a job as charts: one for each quantity, one line for each replica, one time axis for all. Pure.

import type { JobMetrics } from '../api/contract.gen';
import { afterPauses } from './gaps';

export type Unit = 'cores' | 'bytes' | 'bytesPerSecond' | 'fraction' | 'number';

export interface Line {
  readonly replica: string;
  readonly times: readonly number[];
  readonly values: readonly (number | null)[];
}

export interface Chart {
  /** `cpu`, or the name that the program prints, such as `loss`. */
  readonly name: string;
  readonly unit: Unit;
  /** Guessed from the output of the program. */
  readonly guessed: boolean;
  readonly lines: readonly Line[];
  /** The smallest limit of the replicas, if there is one. */
  readonly limit: number | null;
}

const USAGE = [
  ['cpu', 'cores', 'cpuLimit'],
  ['memory', 'bytes', 'memoryLimit'],
  ['networkReceived', 'bytesPerSecond', null],
  ['networkSent', 'bytesPerSecond', null],
  ['gpu', 'fraction', null],
  ['gpuMemory', 'bytes', null],
] as const;
export const USAGE_NAMES = USAGE.map(([name]) => name);

function least(values: readonly (number | null)[]): number | null {
  const known = values.filter((each) => each !== null);
  return known.length === 0 ? null : Math.min(...known);
}

/** In the order of the job: a replica that prints later than the others arrives later. */
function inOrder<T extends { readonly replica: string }>(series: readonly T[], replicas: readonly string[]): T[] {
  const position = new Map(replicas.map((replica, index) => [replica, index]));
  const of = (each: T) => position.get(each.replica) ?? replicas.length;
  return [...series].sort((one, other) => of(one) - of(other));
}

export function chartsOf(metrics: JobMetrics): Chart[] {
  const usage = USAGE.map(([name, unit, limit]) => ({
    name,
    unit,
    guessed: false,
    lines: metrics.usage
      .filter((series) => series[name].some((value) => value !== null))
      .map((series) => ({ replica: series.replica, times: series.times, values: series[name] })),
    limit: limit === null ? null : least(metrics.usage.map((series) => series[limit])),
  }));
  const names = [...new Set(metrics.output.map((series) => series.name))];
  const output = names.map((name) => ({
    name,
    unit: 'number' as const,
    guessed: true,
    lines: inOrder(
      metrics.output.filter((series) => series.name === name),
      metrics.usage.map((series) => series.replica),
    ),
    limit: null,
  }));
  // A number that was printed once is no series.
  const repeated = output.filter((chart) => chart.lines.some((line) => line.times.length > 1));
  return [...repeated, ...usage].filter((chart) => chart.lines.length > 0);
}

/** undefined: another line was measured then, null: nothing was. */
export type Column = (number | null | undefined)[];

/** One list of times in seconds, and for each line its values at these times. */
export function aligned(lines: readonly Line[], unit: Unit): [number[], ...Column[]] {
  const points = lines.map((line) => withPauses(line, unit));
  const times = [...new Set(points.flatMap((line) => [...line.keys()]))].sort((a, b) => a - b);
  return [times.map((time) => time / 1000), ...points.map((line) => times.map((time) => line.get(time)))];
}

/** The values by time, and null within each pause. */
function withPauses({ times, values }: Line, unit: Unit): Map<number, number | null> {
  const points = new Map(times.map((time, index) => [time, values[index] ?? null]));
  for (const after of afterPauses(times, unit)) points.set((times[after] ?? 0) - 1, null);
  return points;
}

export function latest(line: Line): number | null {
  return line.values.findLast((value) => value !== null) ?? null;
}

const STEPS = ['', 'Ki', 'Mi', 'Gi', 'Ti'];

export function shown(value: number | null, unit: Unit): string {
  if (value === null) return '';
  if (unit === 'fraction') return `${Math.round(value * 100)}%`;
  if (unit === 'cores') return value.toFixed(2);
  if (unit === 'number') return String(Number(value.toPrecision(5)));
  const step = Math.min(STEPS.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, value)) / 10)));
  const text = `${Number((value / 2 ** (10 * step)).toPrecision(3))}${STEPS[step] ?? ''}`;
  return unit === 'bytesPerSecond' ? `${text}/s` : text;
}

const LEAST: Partial<Record<Unit, number>> = { cores: 0.1, bytes: 2 ** 20, bytesPerSecond: 2 ** 10 };

/** What the y axis shows. Amounts begin at zero, and a replica that uses next to nothing is not drawn as one that uses a lot. */
export function rangeOf(unit: Unit, low: number, high: number): [number, number] {
  const least = LEAST[unit];
  if (least !== undefined) return [0, Math.max(least, high * 1.1)];
  const spare = (high - low) * 0.1 || Math.abs(high) * 0.1 || 1;
  return [low >= 0 ? Math.max(0, low - spare) : low - spare, high + spare];
}

const LEAST_SECONDS = 10;

/** What the axis of time shows: whole seconds have room for their labels, also if everything was measured at once. */
export function timesOf(first: number, last: number): [number, number] {
  return [Math.min(first, last - LEAST_SECONDS), last];
}

/** Amounts of memory have ticks at powers of two: 1Mi, not 977Ki. */
export function ticksOf(unit: Unit): { incrs?: number[] } {
  if (unit !== 'bytes' && unit !== 'bytesPerSecond') return {};
  return { incrs: Array.from({ length: 50 }, (_, power) => 2 ** power) };
}

function cell(value: string | number | null): string {
  const text = value === null ? '' : String(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** One row for each point, so that any program can read it. */
export function csv(charts: readonly Chart[]): string {
  const rows = charts.flatMap((chart) =>
    chart.lines.flatMap((line) =>
      line.times.map((time, index) => [
        new Date(time).toISOString(),
        line.replica,
        chart.name,
        line.values[index] ?? null,
      ]),
    ),
  );
  return [['time', 'replica', 'series', 'value'], ...rows].map((row) => `${row.map(cell).join(',')}\n`).join('');
}

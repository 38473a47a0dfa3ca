// What replicas use now, from the series of the console. Pure.

import type { UsageSeries } from '../api/contract.gen';

export interface Used {
  readonly cpu: number | null;
  readonly memory: number | null;
}

export interface Total extends Used {
  /** Null: a replica requests none. */
  readonly cpuRequest: number | null;
  readonly memoryRequest: number | null;
}

function last(values: readonly (number | null)[]): number | null {
  return values.findLast((value) => value !== null) ?? null;
}

export function latestUsage(series: readonly UsageSeries[]): Map<string, Used> {
  return new Map(series.map((each) => [each.replica, { cpu: last(each.cpu), memory: last(each.memory) }]));
}

function sum(values: readonly (number | null)[]): number | null {
  return values.reduce((total, each) => (total === null || each === null ? null : total + each), 0 as number | null);
}

/** Null: nothing was measured yet. */
export function totalUsage(series: readonly UsageSeries[]): Total | null {
  const measured = series.filter((each) => last(each.cpu) !== null || last(each.memory) !== null);
  if (measured.length === 0) return null;
  return {
    cpu: sum(measured.map((each) => last(each.cpu) ?? 0)),
    memory: sum(measured.map((each) => last(each.memory) ?? 0)),
    cpuRequest: sum(measured.map((each) => each.cpuRequest)),
    memoryRequest: sum(measured.map((each) => each.memoryRequest)),
  };
}

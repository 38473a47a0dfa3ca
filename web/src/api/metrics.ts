// New points of the metrics of a job, appended to those that the page has. Pure.

import type { JobMetrics, OutputSeries, UsageSeries } from './contract.gen';

/** The arrays of a series grow together; a series that is new is complete. */
function appended<T extends object>(before: T | undefined, more: T): T {
  if (!before) return more;
  const entries = Object.entries(more).map(([key, value]) => {
    const old: unknown = before[key as keyof T];
    return [key, Array.isArray(value) && Array.isArray(old) ? [...old, ...value] : value];
  });
  return Object.fromEntries(entries) as T;
}

function merged<T extends object>(before: readonly T[], more: readonly T[], key: (series: T) => string): T[] {
  const found = new Map(before.map((series) => [key(series), series]));
  for (const series of more) found.set(key(series), appended(found.get(key(series)), series));
  return [...found.values()];
}

const usageKey = (series: UsageSeries) => `${series.replica}/${series.pod}`;
const outputKey = (series: OutputSeries) => `${series.replica}/${series.name}`;

export function patchMetrics(before: JobMetrics, patch: JobMetrics): JobMetrics {
  return {
    ...patch,
    usage: merged(before.usage, patch.usage, usageKey),
    output: merged(before.output, patch.output, outputKey),
  };
}

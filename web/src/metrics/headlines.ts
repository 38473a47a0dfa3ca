// The two numbers of the output that say how the training goes: a loss, and how much is done in a second. Pure.

import type { Chart } from './charts';

const LOSS = [/^loss$/i, /^(train|training)[ _/.-]?loss$/i, /(^|[ _/.-])loss$/i];
const THROUGHPUT = [/(\/|[ _]per[ _]?)s(ec(ond)?s?)?$/i, /^(throughput|ips|fps|tps|wps|speed)$/i];

function first(charts: readonly Chart[], patterns: readonly RegExp[]): Chart[] {
  for (const pattern of patterns) {
    const found = charts.find((chart) => chart.guessed && pattern.test(chart.name));
    if (found) return [found];
  }
  return [];
}

/** Those that were found, the loss first. */
export function headlines(charts: readonly Chart[]): Chart[] {
  return [...first(charts, LOSS), ...first(charts, THROUGHPUT)];
}

import type { JobDetail, PhaseName } from '../api/contract.gen';

export interface Bar {
  readonly name: PhaseName;
  readonly text: string;
  readonly start: number;
  readonly end: number;
  readonly lasts: boolean;
}

export interface Row {
  readonly replica: string;
  readonly bars: readonly Bar[];
}

export interface Chart {
  readonly start: number;
  readonly end: number;
  readonly rows: readonly Row[];
}

/** Phases in milliseconds. What lasts ends now. A phase that ended the replica is a mark, not a bar until now. */
export function chartOf(job: JobDetail, now: number, whole?: { readonly start: number; readonly end: number }): Chart {
  const ended = job.summary.ended === null ? now : Date.parse(job.summary.ended);
  const rows = job.timeline.map(({ replica, phases }) => ({
    replica,
    bars: phases.map((phase) => {
      const start = Date.parse(phase.start);
      const terminal = phase.name === 'Succeeded' || phase.name === 'Failed' || phase.name === 'Lost';
      const end = phase.end === null ? (terminal ? start : now) : Date.parse(phase.end);
      return {
        name: phase.name,
        text: phase.text,
        start,
        end: Math.max(start, end),
        lasts: phase.end === null && !terminal,
      };
    }),
  }));
  // The axis of a record stays the same at every moment.
  if (whole) return { ...whole, rows };
  const bars = rows.flatMap((row) => row.bars);
  const start = Math.min(...bars.map((bar) => bar.start));
  const end = Math.max(...bars.map((bar) => bar.end), bars.some((bar) => bar.lasts) ? now : Math.min(ended, now));
  return { start, end: Math.max(end, start + 1000), rows };
}

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400, 172800, 604800];

/** At most seven round times between start and end. */
export function ticks(start: number, end: number): number[] {
  const step = (STEPS.find((each) => (end - start) / 1000 / each <= 6) ?? 2_592_000) * 1000;
  const result: number[] = [];
  for (let at = Math.ceil(start / step) * step; at <= end; at += step) result.push(at);
  return result;
}

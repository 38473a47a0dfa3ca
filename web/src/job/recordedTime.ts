// The time bar of a recorded job: from its creation to the last change that is recorded. Pure.

import type { ConditionChange, JobDetail } from '../api/contract.gen';

export interface RecordedTime {
  readonly start: number;
  readonly end: number;
  /** When something changed, in order; whole seconds. */
  readonly changes: readonly number[];
}

const SECOND = 1000;
const wholeSecond = (time: string) => Math.floor(Date.parse(time) / SECOND) * SECOND;

/** Null: nothing is known of the past of the job. */
export function recordedTime(job: JobDetail, changes: readonly ConditionChange[]): RecordedTime | null {
  const phases = job.timeline.flatMap((row) => row.phases);
  const lasts = job.summary.ended === null ? [job.deleted ?? job.recording?.exported ?? null] : [];
  const times = [
    job.summary.created,
    job.summary.started,
    job.summary.ended,
    ...phases.flatMap((phase) => [phase.start, phase.end]),
    ...changes.map((each) => each.time),
    ...lasts,
  ].flatMap((each) => (each === null ? [] : [wholeSecond(each)]));
  const sorted = [...new Set(times)].sort((a, b) => a - b);
  const [start, end] = [sorted[0], sorted.at(-1)];
  return start === undefined || end === undefined || end === start ? null : { start, end, changes: sorted };
}

/** The moment of an address. Null: the end of the job, which is shown without one. */
export function momentOf(text: string | undefined, time: RecordedTime | null): number | null {
  const found = text === undefined ? Number.NaN : Date.parse(text);
  if (time === null || Number.isNaN(found) || found >= time.end) return null;
  return Math.max(time.start, Math.floor(found / SECOND) * SECOND);
}

export function textOf(moment: number, time: RecordedTime): string | undefined {
  return moment >= time.end ? undefined : `${new Date(moment).toISOString().slice(0, 19)}Z`;
}

/** The change before or after a moment. Undefined: there is none. */
export function neighbor(time: RecordedTime, moment: number, step: 1 | -1): number | undefined {
  return step === 1 ? time.changes.find((each) => each > moment) : time.changes.findLast((each) => each < moment);
}

// The job of the list that keys act on. It stays the same job when others come, go or change their order. Pure.

import type { JobSummary } from '../api/contract.gen';
import { jobId } from '../api/patches';

export interface Cursor {
  readonly id: string;
  /** Its row when it was chosen: where the next one is looked for if the job is gone. */
  readonly at: number;
}

/** The row of the job; -1 before the first key and if the job is not in the list any more. */
export function rowOf(jobs: readonly JobSummary[], cursor: Cursor | null): number {
  return cursor === null ? -1 : jobs.findIndex((job) => jobId(job) === cursor.id);
}

export function moved(jobs: readonly JobSummary[], cursor: Cursor | null, step: 1 | -1): Cursor | null {
  const row = rowOf(jobs, cursor);
  // The row of a job that is gone now has the next one.
  const from = row >= 0 || cursor === null ? row : cursor.at - (step === 1 ? 1 : 0);
  const at = Math.max(0, Math.min(jobs.length - 1, from + step));
  const job = jobs[at];
  return job ? { id: jobId(job), at } : null;
}

// Deleted jobs of the history. In addresses, NAME@UID stands for the name of a recorded job: no object can have such a name.

import { useQuery } from '@tanstack/react-query';
import type { ApiError, JobSummary, RecordedJobList } from '../api/contract.gen';
import { asProblem, request } from '../api/http';

const SEPARATOR = '@';
const REFRESH = 10_000;

export function isRecorded(name: string): boolean {
  return name.includes(SEPARATOR);
}

export function plainName(name: string): string {
  return name.split(SEPARATOR)[0] ?? name;
}

/** The UID of a record, or the ID of a recording file. */
export function recordOf(name: string): string {
  return name.split(SEPARATOR)[1] ?? '';
}

export function recordedName(job: Pick<JobSummary, 'name' | 'uid'>): string {
  return `${job.name}${SEPARATOR}${job.uid}`;
}

interface DeletedJobs {
  readonly jobs: readonly JobSummary[];
  readonly truncated: boolean;
  readonly error: ApiError | null;
}

/** Under the names that stand for their records. */
export function useDeletedJobs(wanted: boolean): DeletedJobs {
  const { data, error } = useQuery({
    queryKey: ['deleted'],
    queryFn: ({ signal }) => request<RecordedJobList>('GET', 'history/jobs?deleted=1', { signal }),
    select: (found) => ({
      jobs: found.jobs.map((job) => ({ ...job.summary, name: recordedName(job.summary) })),
      truncated: found.truncated,
    }),
    enabled: wanted,
    refetchInterval: REFRESH,
  });
  if (!wanted) return { jobs: [], truncated: false, error: null };
  return { jobs: data?.jobs ?? [], truncated: data?.truncated ?? false, error: error ? asProblem(error) : null };
}

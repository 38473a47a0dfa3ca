// The rows of the table of replicas. A job has them all, unless it has thousands: then pages of them are read as they come into view.

import { keepPreviousData, useQueries } from '@tanstack/react-query';
import { useCallback, useMemo, useState } from 'react';
import type { ApiError, JobDetail, Replica, ReplicaPage, ReplicaState } from '../api/contract.gen';
import { asProblem, request } from '../api/http';
import { jobPath } from '../jobs/actions';

export const REPLICA_STATES: readonly ReplicaState[] = [
  'Missing',
  'Pending',
  'Starting',
  'Running',
  'Succeeded',
  'Failed',
  'Terminating',
  'Unknown',
];
export const PAGE = 200;
const INTERVAL = 5_000;

export interface ReplicaFilter {
  readonly role: string;
  readonly state: ReplicaState | '';
}

export interface ReplicaRows {
  readonly total: number;
  readonly problem: ApiError | null;
  /** Undefined: not read yet. */
  readonly at: (index: number) => Replica | undefined;
  /** These rows are in view. */
  readonly show: (first: number, last: number) => void;
}

export function replicaState(value: unknown): ReplicaState | undefined {
  return REPLICA_STATES.find((each) => each === value);
}

export function searchOf(role: string, state: ReplicaState | undefined): { role?: string; state?: ReplicaState } {
  return { ...(role === '' ? {} : { role }), ...(state === undefined ? {} : { state }) };
}

/** The numbers of the pages with these rows. */
export function pagesOf(first: number, last: number): number[] {
  const from = Math.floor(first / PAGE);
  return Array.from({ length: Math.floor(last / PAGE) - from + 1 }, (_, number) => from + number);
}

/** isNow false: a moment of a record, of which the console has no pages. The rows are those that the page has. */
export function useReplicaRows(job: JobDetail, filter: ReplicaFilter, isNow: boolean): ReplicaRows {
  const [[first, last], setView] = useState<readonly [number, number]>([0, 0]);
  const show = useCallback((from: number, to: number) => setView([from, to]), []);
  const { role, state } = filter;
  const isPaged = isNow && job.moreReplicas > 0;
  const numbers = isPaged ? pagesOf(first, last) : [];
  const pages = useQueries({
    queries: numbers.map((number) => ({
      queryKey: ['replicas', job.summary.uid, role, state, number],
      queryFn: ({ signal }: { signal: AbortSignal }) => {
        const query = new URLSearchParams({ role, state, offset: String(number * PAGE), limit: String(PAGE) });
        return request<ReplicaPage>('GET', `${jobPath(job.summary)}/replicas?${query}`, { signal });
      },
      refetchInterval: INTERVAL,
      placeholderData: keepPreviousData,
    })),
  });
  const own = useMemo(
    () => job.replicas.filter((each) => (role === '' || each.role === role) && (state === '' || each.state === state)),
    [job.replicas, role, state],
  );
  const [known, setKnown] = useState({ of: '', total: 0 });
  if (!isPaged) return { total: own.length, problem: null, at: (index) => own[index], show };
  const read = pages.flatMap((each) => each.data ?? []);
  // While a page is read, the table keeps its length. Without it, the rows in view would be others, whose pages are known.
  const of = [job.summary.uid, role, state].join(' ');
  const total = read[0]?.total ?? (known.of === of ? known.total : 0);
  if (known.of !== of || known.total !== total) setKnown({ of, total });
  const error = pages.find((each) => each.error)?.error;
  return {
    total,
    problem: error ? asProblem(error) : null,
    at: (index) => read.find((each) => index >= each.offset && index < each.offset + PAGE)?.replicas[index % PAGE],
    show,
  };
}

import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { ApiError, FieldError, SubmitResult } from '../api/contract.gen';
import { asProblem, request } from '../api/http';
import { useSettled } from './useSettled';

export interface DryRun {
  readonly state: 'checking' | 'accepted' | 'refused';
  readonly findings: readonly FieldError[];
  readonly problem: ApiError | null;
}

/** What the API server says to the text, without creating anything. */
export function useDryRun(text: string, namespace: string, enabled: boolean): DryRun {
  const settled = useSettled(text);
  const query = useQuery({
    queryKey: ['dryRun', settled, namespace],
    queryFn: ({ signal }) => submit(settled, namespace, true, signal),
    enabled,
    placeholderData: keepPreviousData,
    staleTime: 5_000,
  });
  if (!enabled || settled !== text || query.isFetching) return { state: 'checking', findings: [], problem: null };
  if (query.error) {
    const problem = asProblem(query.error);
    return { state: 'refused', findings: problem.fields, problem };
  }
  return { state: 'accepted', findings: query.data?.findings ?? [], problem: null };
}

export function submit(text: string, namespace: string, dryRun: boolean, signal?: AbortSignal): Promise<SubmitResult> {
  const query = new URLSearchParams({ namespace, ...(dryRun ? { dryRun: '1' } : {}) });
  return request('POST', `jobs?${query}`, { body: text, type: 'application/yaml', ...(signal ? { signal } : {}) });
}

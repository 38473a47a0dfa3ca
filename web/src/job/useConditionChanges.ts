import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { ConditionHistory, JobDetail } from '../api/contract.gen';
import { request } from '../api/http';
import { recordOf } from '../jobs/recorded';
import { useJobAddress } from './jobContext';

/** What the recorder has seen of the conditions of the job. Null: no job yet. */
export function useConditionChanges(job: JobDetail | null) {
  const { name } = useJobAddress();
  // A recording file has a name of its own. A record does not change any more.
  const record = recordOf(name);
  const uid = record === '' ? (job?.summary.uid ?? '') : record;
  // A change of the present conditions is one of the history.
  const present = record === '' ? job?.conditions.map((each) => [each.type, each.status, each.reason]) : null;
  return useQuery({
    queryKey: ['conditions', uid, present],
    queryFn: ({ signal }) => request<ConditionHistory>('GET', `history/recordings/${uid}/conditions`, { signal }),
    placeholderData: keepPreviousData,
    enabled: uid !== '',
  });
}

import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { LogPage } from '../api/contract.gen';
import { asProblem, request } from '../api/http';
import { jobPath } from '../jobs/actions';
import { type LogSearch, logQuery } from './logSearch';
import { LogWindow } from './logWindow';
import type { Logs } from './useLogs';

/** The lines of the run of each container before its last restart. They do not change. */
export function usePreviousLogs(job: Parameters<typeof jobPath>[0], search: LogSearch): Logs {
  const query = logQuery({ ...search, previous: '1' });
  const { data, error, isFetched } = useQuery({
    queryKey: ['previous', job, query.toString()],
    queryFn: ({ signal }) => request<LogPage>('GET', `${jobPath(job)}/logs?${query}`, { signal }),
    enabled: search.previous === '1',
  });
  return useMemo(() => {
    const window = new LogWindow();
    if (data) window.add({ lines: data.lines, sources: data.sources, skipped: 0 });
    return { window, end: null, error: error ? asProblem(error) : null, loaded: isFetched };
  }, [data, error, isFetched]);
}

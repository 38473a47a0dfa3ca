import { type UseQueryResult, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import type { Capabilities } from '../api/contract.gen';
import { request } from '../api/http';
import { useStreamState } from '../api/topics';

const KEY = ['capabilities'];
const AGAIN = 3_000;

/** Pages that cannot do without it show the error. It is asked for again until it is there. */
export function useCapabilitiesQuery(): UseQueryResult<Capabilities> {
  return useQuery({
    queryKey: KEY,
    queryFn: ({ signal }) => request<Capabilities>('GET', 'capabilities', { signal }),
    staleTime: 60_000,
    refetchInterval: (query) => (query.state.status === 'error' ? AGAIN : false),
  });
}

export function useCapabilities(): Capabilities | undefined {
  return useCapabilitiesQuery().data;
}

/** A console that was away may have another version, or another cluster. */
export function useRenewedCapabilities(): void {
  const queries = useQueryClient();
  const { connection } = useStreamState();
  const wasLost = useRef(false);
  useEffect(() => {
    if (connection === 'open' && wasLost.current) void queries.invalidateQueries({ queryKey: KEY });
    wasLost.current = connection === 'lost' || (wasLost.current && connection !== 'open');
  }, [connection, queries]);
}

import { useQuery } from '@tanstack/react-query';
import type { Capabilities } from '../api/contract.gen';
import { request } from '../api/http';
import { useStreamState } from '../api/topics';

export function useCapabilities(): Capabilities | undefined {
  const { connection } = useStreamState();
  return useQuery({
    queryKey: ['capabilities', connection === 'open'],
    queryFn: ({ signal }) => request<Capabilities>('GET', 'capabilities', { signal }),
    placeholderData: (before) => before,
    staleTime: 60_000,
  }).data;
}

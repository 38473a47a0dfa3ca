import { keepPreviousData, type UseQueryResult, useQuery } from '@tanstack/react-query';
import type { Feature } from '../api/contract.gen';
import { request } from '../api/http';
import { useSay } from '../i18n/say';
import { useCapabilities } from '../shell/useCapabilities';

const INTERVAL = 5_000;

/** A list of the cluster that is read again while it is shown. */
export function useClusterList<T>(path: string): UseQueryResult<T> {
  return useQuery({
    queryKey: ['cluster', path],
    queryFn: ({ signal }) => request<T>('GET', path, { signal }),
    refetchInterval: INTERVAL,
    placeholderData: keepPreviousData,
  });
}

/** Why a part of the console has nothing to show. Empty: it has. */
export function useObjection(name: Feature['name']): string {
  const feature = useCapabilities()?.features.find((each) => each.name === name);
  const say = useSay();
  return feature && !feature.available ? say(feature.reason) : '';
}

// Topics of the WebSocket in the cache of TanStack Query: what was seen once is there at once when the user comes back.

import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useSyncExternalStore } from 'react';
import type { ApiError, End, JobDetail, JobList, JobMetrics } from './contract.gen';
import { patchMetrics } from './metrics';
import { patchJob, patchJobs } from './patches';
import { type StreamState, stream, type TopicMessage } from './stream';

export interface Live<T> {
  readonly data: T | null;
  readonly cursor: string;
  readonly error: ApiError | null;
  readonly end: End | null;
}

const NOTHING: Live<never> = { data: null, cursor: '', error: null, end: null };

type Reduce<T> = (data: T | null, message: TopicMessage) => T | null;

export function useStreamState(): StreamState {
  return useSyncExternalStore(stream.listen, stream.snapshot);
}

/** The state that is shown may be old: the console or its cluster is away. */
export function useIsAway(): boolean {
  const { connection, cluster } = useStreamState();
  return connection === 'lost' || (connection === 'open' && cluster?.state === 'away');
}

function receive<T>(client: QueryClient, topic: string, reduce: Reduce<T>, message: TopicMessage): void {
  client.setQueryData<Live<T>>(['topic', topic], (before = NOTHING) => {
    if (message.type === 'error') return { ...before, error: message.error };
    if (message.type === 'end') return { ...before, end: message };
    const cursor = 'cursor' in message ? message.cursor : before.cursor;
    return { data: reduce(before.data, message), cursor, error: null, end: null };
  });
}

function useTopic<T>(topic: string, reduce: Reduce<T>): Live<T> {
  const client = useQueryClient();
  useEffect(
    () =>
      stream.subscribe(topic, {
        receive: (message) => receive(client, topic, reduce, message),
        resume: () => ({ cursor: client.getQueryData<Live<T>>(['topic', topic])?.cursor ?? '' }),
      }),
    [client, topic, reduce],
  );
  const query = useQuery<Live<T>>({
    queryKey: ['topic', topic],
    queryFn: () => NOTHING,
    enabled: false,
    // A patch keeps what it does not change: there is nothing to compare.
    structuralSharing: false,
  });
  return query.data ?? NOTHING;
}

function reduceJobs(data: JobList | null, message: TopicMessage): JobList | null {
  if (message.type === 'jobs.snapshot') return message.data;
  if (message.type === 'jobs.patch' && data) return patchJobs(data, message.data);
  return data;
}

function reduceJob(data: JobDetail | null, message: TopicMessage): JobDetail | null {
  if (message.type === 'job.snapshot') return message.data;
  if (message.type === 'job.patch' && data) return patchJob(data, message.data);
  return data;
}

export const useJobs = (): Live<JobList> => useTopic('jobs', reduceJobs);

export const useJob = (namespace: string, kind: string, name: string): Live<JobDetail> =>
  useTopic(`job:${namespace}/${kind}/${name}`, reduceJob);

function reduceMetrics(data: JobMetrics | null, message: TopicMessage): JobMetrics | null {
  if (message.type === 'metrics.snapshot') return message.data;
  if (message.type === 'metrics.patch' && data) return patchMetrics(data, message.data);
  return data;
}

export const useMetrics = (namespace: string, kind: string, name: string, query = ''): Live<JobMetrics> =>
  useTopic(`metrics:${namespace}/${kind}/${name}${query}`, reduceMetrics);

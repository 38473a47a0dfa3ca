import { useParams } from '@tanstack/react-router';
import { createContext, useContext } from 'react';
import type { JobDetail } from '../api/contract.gen';
import { useNow } from '../format/useNow';
import { type RecordedTime, textOf } from './recordedTime';

export const JobContext = createContext<JobDetail | null>(null);

/** The job of the page. Tabs are only shown once it is known. */
export function useCurrentJob(): JobDetail {
  const job = useContext(JobContext);
  if (job === null) throw new Error('a tab is shown outside of the page of a job');
  return job;
}

interface ShownRecord {
  readonly time: RecordedTime;
  /** The moment of the time bar. Null: the end. */
  readonly at: number | null;
}

/** Null: the job exists, or nothing is known of its past. */
export const RecordContext = createContext<ShownRecord | null>(null);

/** The moment as of which a recorded job is shown. Null: the job exists, or its record is shown to the end. */
export function useMoment(): number | null {
  return useContext(RecordContext)?.at ?? null;
}

/** Links between the tabs of a job keep the moment. */
export function useMomentSearch(): { t?: string } {
  const record = useContext(RecordContext);
  const text = record === null || record.at === null ? undefined : textOf(record.at, record.time);
  return text === undefined ? {} : { t: text };
}

/** The time as of which the job is shown. That of a recording stands still. */
export function useJobNow(): number {
  const now = useNow();
  const exported = useContext(JobContext)?.recording?.exported;
  const moment = useMoment();
  if (moment !== null) return moment;
  return exported ? Date.parse(exported) : now;
}

export function useJobAddress(): { namespace: string; kind: string; name: string } {
  return useParams({ from: '/jobs/$namespace/$kind/$name' });
}

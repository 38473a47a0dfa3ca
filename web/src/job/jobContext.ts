import { useParams } from '@tanstack/react-router';
import { createContext, useContext } from 'react';
import type { JobDetail } from '../api/contract.gen';

export const JobContext = createContext<JobDetail | null>(null);

/** The job of the page. Tabs are only shown once it is known. */
export function useCurrentJob(): JobDetail {
  const job = useContext(JobContext);
  if (job === null) throw new Error('a tab is shown outside of the page of a job');
  return job;
}

export function useJobAddress(): { namespace: string; kind: string; name: string } {
  return useParams({ from: '/jobs/$namespace/$kind/$name' });
}

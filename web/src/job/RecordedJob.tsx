import { useSearch } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import type { JobDetail } from '../api/contract.gen';
import { jobAt } from './jobAt';
import { JobContext, RecordContext } from './jobContext';
import { momentOf, recordedTime } from './recordedTime';
import { useConditionChanges } from './useConditionChanges';

interface Props {
  /** As it was last seen. */
  readonly value: JobDetail;
  readonly children: ReactNode;
}

/** All parts of the page show the job as it was at the moment of the address. */
export function RecordedJob({ value: job, children }: Props) {
  const { t: text } = useSearch({ from: '/jobs/$namespace/$kind/$name' });
  const { data } = useConditionChanges(job);
  const changes = useMemo(() => data?.changes ?? [], [data]);
  const time = useMemo(() => recordedTime(job, changes), [job, changes]);
  const at = momentOf(text, time);
  const shown = useMemo(() => (at === null ? job : jobAt(job, changes, at)), [job, changes, at]);
  const record = useMemo(() => (time === null ? null : { time, at }), [time, at]);
  return (
    <RecordContext value={record}>
      <JobContext value={shown}>{children}</JobContext>
    </RecordContext>
  );
}

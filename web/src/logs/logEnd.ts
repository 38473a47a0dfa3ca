// How a log ended. Pure.

import type { JobDetail, LogSource } from '../api/contract.gen';

/** Exit codes after SIGKILL and SIGTERM. */
const SIGNALS: readonly (number | null)[] = [137, 143];

export type LogEnd = 'succeeded' | 'stopped' | 'failed';

/** stopped: by the operator, after the job had succeeded. Workers of an MPIJob always end so. */
export function endOf(source: LogSource, { summary, replicas }: Pick<JobDetail, 'summary' | 'replicas'>): LogEnd {
  if (source.exitCode === 0) return 'succeeded';
  if (summary.status !== 'Succeeded' || source.reason === 'OOMKilled' || !SIGNALS.includes(source.exitCode))
    return 'failed';
  const replica = replicas.find((each) => each.pod === source.pod);
  const ended = replica?.containers.find((each) => each.name === source.container)?.ended ?? null;
  // The end of a pod that is deleted is not known.
  if (ended === null || summary.ended === null) return 'stopped';
  return Date.parse(ended) >= Date.parse(summary.ended) ? 'stopped' : 'failed';
}

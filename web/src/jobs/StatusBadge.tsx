import type { ComponentType } from 'react';
import { useTranslation } from 'react-i18next';
import type { JobSummary, ReplicaState } from '../api/contract.gen';
import * as icons from '../icons';
import { type StatusFilter, statusOf } from './jobFilters';

type Icon = ComponentType<{ size?: number }>;

// Every state has a shape, a word and a colour: colour alone says nothing.
const JOB: Record<StatusFilter, [Icon, string]> = {
  Queued: [icons.QueuedIcon, 'queued'],
  Starting: [icons.StartingIcon, 'starting'],
  Running: [icons.RunningIcon, 'running'],
  Restarting: [icons.RestartingIcon, 'warning'],
  Suspended: [icons.SuspendedIcon, 'suspended'],
  Succeeded: [icons.SucceededIcon, 'succeeded'],
  Failed: [icons.FailedIcon, 'failed'],
  Stalled: [icons.WarningIcon, 'warning'],
  Deleting: [icons.DeletingIcon, 'suspended'],
  Unknown: [icons.UnknownIcon, 'suspended'],
};

const REPLICA: Record<ReplicaState, [Icon, string]> = {
  Missing: [icons.MissingIcon, 'suspended'],
  Pending: [icons.QueuedIcon, 'queued'],
  Starting: [icons.StartingIcon, 'starting'],
  Running: [icons.RunningIcon, 'running'],
  Succeeded: [icons.SucceededIcon, 'succeeded'],
  Failed: [icons.FailedIcon, 'failed'],
  Terminating: [icons.DeletingIcon, 'suspended'],
  Unknown: [icons.UnknownIcon, 'suspended'],
};

export function StatusWord({ status }: { readonly status: StatusFilter }) {
  const { t } = useTranslation();
  const [Icon, color] = JOB[status];
  return (
    <span className={`status ${color}`}>
      <Icon size={14} />
      <span>{t(`status.${status}`)}</span>
    </span>
  );
}

export function StatusIcon({ job }: { readonly job: JobSummary }) {
  const { t } = useTranslation();
  const status = statusOf(job);
  const [Icon, color] = JOB[status];
  return (
    <span className={`status ${color}`} role="img" aria-label={t(`status.${status}`)}>
      <Icon size={14} />
    </span>
  );
}

/** The status; its whole reason is shown on hover, and on the page of the job. */
export function StatusBadge({ job }: { readonly job: JobSummary }) {
  return (
    <span className="status-line" title={job.stalled !== '' ? job.stalled : (job.why?.message ?? '')}>
      <StatusWord status={statusOf(job)} />
      {job.attempt > 1 && <span className="quiet">{`#${job.attempt}`}</span>}
    </span>
  );
}

export function ReplicaStatus({ state }: { readonly state: ReplicaState }) {
  const { t } = useTranslation();
  const [Icon, color] = REPLICA[state];
  return (
    <span className={`status ${color}`}>
      <Icon size={14} />
      <span>{t(`replicaState.${state}`)}</span>
    </span>
  );
}

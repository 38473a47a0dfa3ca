import type { TFunction } from 'i18next';
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
  return <Word status={status} t={useTranslation().t} />;
}

function Word({ status, t }: { readonly status: StatusFilter; readonly t: TFunction }) {
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

interface BadgeProps {
  readonly job: JobSummary;
  /** The whole reason, in the language of the page. */
  readonly text: string;
  readonly t: TFunction;
}

/** The status; its whole reason is shown on hover, and on the page of the job. */
export function StatusBadge({ job, text, t }: BadgeProps) {
  return (
    <span className="status-line" title={text}>
      <Word status={statusOf(job)} t={t} />
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

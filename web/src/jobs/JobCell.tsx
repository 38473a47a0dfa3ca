import { Tooltip } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { JobSummary, Progress } from '../api/contract.gen';
import { between, dateAndTime, since } from '../format/time';
import { useNow } from '../format/useNow';
import type { Column } from './jobFilters';
import { StatusBadge } from './StatusBadge';

interface Props {
  readonly job: JobSummary;
  readonly column: Column;
}

export function JobCell({ job, column }: Props) {
  if (column === 'status') return <Status job={job} />;
  if (column === 'kind') return <>{job.kindName}</>;
  if (column === 'progress') return job.progress && <ProgressBar progress={job.progress} />;
  if (column === 'replicas') return <Replicas job={job} />;
  if (column === 'devices') return <Devices devices={job.devices} />;
  if (column === 'resources') return <>{resources(job)}</>;
  if (column === 'age') return <Age job={job} />;
  if (column === 'duration') return <Duration job={job} />;
  if (column === 'queue') return <>{job.queue}</>;
  if (column === 'priority') return <>{job.priority}</>;
  return <>{job.owner}</>;
}

function Status({ job }: { readonly job: JobSummary }) {
  const text = job.stalled !== '' ? job.stalled : (job.why?.message ?? '');
  return (
    <>
      <StatusBadge job={job} />
      {text !== '' && <span className="second">{text}</span>}
    </>
  );
}

function Replicas({ job }: { readonly job: JobSummary }) {
  const { t } = useTranslation();
  const { total, ready, succeeded } = job.replicas;
  const done = job.status === 'Succeeded';
  return (
    <span title={t('jobs.replicaCounts', { ...job.replicas })}>
      {done ? succeeded : ready}/{total}
    </span>
  );
}

export function Devices({ devices }: { readonly devices: Record<string, number> }) {
  return (
    <>
      {Object.entries(devices).map(([resource, count]) => (
        <span key={resource} className="device" title={resource}>
          {count} × {resource.split('/').at(-1)}
        </span>
      ))}
    </>
  );
}

function resources(job: JobSummary): string {
  const { cpu, memory } = job.resources;
  return [cpu && `${cpu} CPU`, memory].filter(Boolean).join(' · ');
}

function Age({ job }: { readonly job: JobSummary }) {
  const { i18n } = useTranslation();
  const now = useNow();
  return <span title={dateAndTime(job.created, i18n.language)}>{since(job.created, now)}</span>;
}

function Duration({ job }: { readonly job: JobSummary }) {
  const now = useNow();
  return <>{job.status === 'Queued' ? '' : between(job.started, job.ended, now)}</>;
}

export function ProgressBar({ progress }: { readonly progress: Progress }) {
  const { t } = useTranslation();
  const percent = Math.round(progress.fraction * 100);
  return (
    <Tooltip label={`${progress.text} (${t(`progress.${progress.source}`)})`}>
      <span className="progress">
        <progress max={100} value={percent} aria-label={t('columns.progress')} />
        <span>{`${percent} %`}</span>
      </span>
    </Tooltip>
  );
}

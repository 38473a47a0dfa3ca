import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import type { JobSummary, Progress } from '../api/contract.gen';
import { between, dateAndTime, since, timeLeft } from '../format/time';
import { useNow } from '../format/useNow';
import { say } from '../i18n/say';
import type { Column } from './jobFilters';
import { StatusBadge } from './StatusBadge';

interface Props {
  readonly job: JobSummary;
  readonly column: Column;
  readonly t: TFunction;
  readonly language: string;
}

export function JobCell({ job, column, t, language }: Props) {
  if (column === 'status') return <Status job={job} t={t} />;
  if (column === 'kind') return job.kindName;
  if (column === 'progress') return <JobProgress job={job} />;
  if (column === 'replicas') return <Replicas job={job} t={t} />;
  if (column === 'devices') return <Devices devices={job.devices} />;
  if (column === 'resources') return resources(job);
  if (column === 'age') return <Age job={job} language={language} />;
  if (column === 'duration') return <Duration job={job} />;
  if (column === 'queue') return job.queue;
  if (column === 'priority') return job.priority;
  return job.owner;
}

function Status({ job, t }: Pick<Props, 'job' | 't'>) {
  const text = say(job.stalled !== '' ? job.stalled : (job.why?.message ?? ''));
  return (
    <>
      <StatusBadge job={job} text={text} t={t} />
      {text !== '' && <span className="second">{text}</span>}
    </>
  );
}

/** When a job has succeeded, none is missing: the operator stops replicas that only wait, such as workers of an MPIJob. */
function Replicas({ job, t }: Pick<Props, 'job' | 't'>) {
  const { total, ready } = job.replicas;
  const text = job.status === 'Succeeded' ? String(total) : `${ready}/${total}`;
  return <span title={t('jobs.replicaCounts', { ...job.replicas })}>{text}</span>;
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

function Age({ job, language }: Pick<Props, 'job' | 'language'>) {
  return <span title={dateAndTime(job.created, language)}>{since(job.created, useNow())}</span>;
}

function Duration({ job }: { readonly job: JobSummary }) {
  const now = useNow();
  return job.status === 'Queued' ? '' : between(job.started, job.ended, now);
}

/** Of a job that runs for the first time, also when it will probably end. */
export function JobProgress({ job }: { readonly job: JobSummary }) {
  const { t } = useTranslation();
  const now = useNow();
  if (job.progress === null) return null;
  const steady = job.status === 'Running' && job.attempt === 1 && job.stalled === '';
  const time = steady ? timeLeft(job.started, job.progress.fraction, now) : '';
  return (
    <>
      <ProgressBar progress={job.progress} />
      {time !== '' && <span className="second">{t('progress.left', { time })}</span>}
    </>
  );
}

export function ProgressBar({ progress }: { readonly progress: Progress }) {
  const { t } = useTranslation();
  const percent = Math.round(progress.fraction * 100);
  return (
    <span className="progress" title={`${progress.text} (${t(`progress.${progress.source}`)})`}>
      <progress max={100} value={percent} aria-label={t('columns.progress')} />
      <span>{`${percent} %`}</span>
    </span>
  );
}

import { Skeleton } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import type { Queue, QueuedJob, QueueList } from '../api/contract.gen';
import { asProblem } from '../api/http';
import { since } from '../format/time';
import { useNow } from '../format/useNow';
import { Sentence } from '../i18n/Sentence';
import { say } from '../i18n/say';
import { QueuedIcon, SucceededIcon, WarningIcon } from '../icons';
import { ProblemState } from '../shell/ProblemState';
import { useTitle } from '../shell/useTitle';
import { ShareBar } from './ShareBar';
import { shareOf } from './shares';
import { useClusterList } from './useCluster';

/** The queues of Kueue and Volcano: quota, who uses it, who waits and why. */
export function QueuesPage() {
  const { t } = useTranslation();
  useTitle(t('queues.title'));
  const { data, error, refetch } = useClusterList<QueueList>('queues');
  if (error && !data) return <ProblemState problem={asProblem(error)} retry={() => void refetch()} />;
  return (
    <div className="page cluster-page">
      <h1 className="page-title">{t('queues.title')}</h1>
      {!data && <Skeleton height={200} />}
      {[data?.unavailable ?? '', ...(data?.notes ?? [])]
        .filter((note) => note !== '')
        .map((note) => (
          <p key={note} className="note warning">
            <span>
              <Sentence text={note} />
            </span>
          </p>
        ))}
      {data && data.unavailable === '' && data.queues.length === 0 && <p className="quiet">{t('queues.none')}</p>}
      {data?.queues.map((queue) => (
        <QueueCard key={`${queue.system}/${queue.namespace}/${queue.name}`} queue={queue} />
      ))}
    </div>
  );
}

function QueueCard({ queue }: { readonly queue: Queue }) {
  const { t } = useTranslation();
  const title = queue.namespace === '' ? queue.name : `${queue.namespace}/${queue.name}`;
  const facts = [queue.clusterQueue, queue.cohort, queue.strategy].filter((each) => each !== '');
  return (
    <section className="card" aria-label={title}>
      <h2>{title}</h2>
      <p className="job-facts">
        <span className={queue.active ? 'status succeeded' : 'status warning'}>
          {queue.active ? <SucceededIcon size={14} /> : <WarningIcon size={14} />}
          {queue.active ? t('queues.active') : t('queues.inactive')}
        </span>
        <span>{t('queues.counts', { admitted: queue.admitted, pending: queue.pending })}</span>
        <span className="quiet">{[queue.system, ...facts].join(' · ')}</span>
      </p>
      {queue.message !== '' && <p className="note warning">{say(queue.message)}</p>}
      {queue.resources.map((each) => (
        <div key={each.flavor + each.resource} className="queue-resource">
          <span>
            {each.resource} <span className="quiet">{each.flavor}</span>
          </span>
          <ShareBar
            share={shareOf(each.resource, {}, { [each.resource]: each.used }, { [each.resource]: each.quota })}
          />
          {each.wanted !== '' && <span className="quiet">{t('queues.wanted', { amount: each.wanted })}</span>}
        </div>
      ))}
      {queue.jobs.length > 0 && (
        <table className="plain wide">
          <tbody>
            {queue.jobs.map((job) => (
              <QueuedRow key={`${job.namespace}/${job.kind}/${job.name}`} job={job} />
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function QueuedRow({ job }: { readonly job: QueuedJob }) {
  const { t } = useTranslation();
  const now = useNow();
  const { namespace, kind, name } = job;
  return (
    <tr>
      <th scope="row">
        {kind === '' ? (
          name
        ) : (
          <Link to="/jobs/$namespace/$kind/$name" params={{ namespace, kind, name }}>
            {name}
          </Link>
        )}
      </th>
      <td>
        <span className={job.admitted ? 'status running' : 'status queued'}>
          {!job.admitted && <QueuedIcon size={14} />}
          {job.admitted ? t('queues.admitted') : t('queues.position', { position: job.position ?? '?' })}
        </span>
      </td>
      <td className="wrap">{[job.reason, say(job.message)].filter((each) => each !== '').join(': ')}</td>
      <td>{since(job.since, now)}</td>
    </tr>
  );
}

import { Skeleton, Stack } from '@mantine/core';
import { Link, Outlet, useMatchRoute, useNavigate } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { useIsAway, useJob } from '../api/topics';
import { between, dateAndTime, since } from '../format/time';
import { say } from '../i18n/say';
import { WarningIcon } from '../icons';
import { statusOf } from '../jobs/jobFilters';
import { plainName, recordedName } from '../jobs/recorded';
import { StatusWord } from '../jobs/StatusBadge';
import { RecordingNote } from '../recordings/RecordingNote';
import { ProblemState } from '../shell/ProblemState';
import { useShortcuts } from '../shell/shortcuts';
import { useTitle } from '../shell/useTitle';
import { JobActions } from './JobActions';
import { JobContext, useCurrentJob, useJobAddress, useJobNow, useMomentSearch } from './jobContext';
import { RecordedJob } from './RecordedJob';
import { TimeBar } from './TimeBar';

const BASE = '/jobs/$namespace/$kind/$name';
const TABS = [
  { name: 'overview', to: BASE },
  { name: 'replicas', to: `${BASE}/replicas` },
  { name: 'logs', to: `${BASE}/logs` },
  { name: 'metrics', to: `${BASE}/metrics` },
  { name: 'tensorboard', to: `${BASE}/tensorboard` },
  { name: 'events', to: `${BASE}/events` },
  { name: 'yaml', to: `${BASE}/yaml` },
] as const;

export function JobPage() {
  const { t, i18n } = useTranslation();
  const address = useJobAddress();
  const { data, error, end } = useJob(address.namespace, address.kind, address.name);
  const away = useIsAway();
  useTitle(plainName(address.name));
  if (data === null)
    return error ? (
      <ProblemState problem={error} />
    ) : (
      <Stack className="page" aria-busy="true">
        <Skeleton height={60} />
        <Skeleton height={240} />
      </Stack>
    );
  const isRecord = data.deleted !== null || data.recording !== null;
  const Provider = isRecord ? RecordedJob : JobContext;
  return (
    <Provider value={data}>
      <div className={`page job-page${away ? ' stale' : ''}`}>
        <Head />
        {end?.reason === 'Deleted' && (
          <div className="note warning" role="status">
            <WarningIcon />
            <span>
              {t('job.deleted')} {say(end.message)} <Link to="/jobs">{t('notFound.step')}</Link>{' '}
              <Link to={BASE} params={{ ...address, name: recordedName(data.summary) }}>
                {t('job.openRecord')}
              </Link>
            </span>
          </div>
        )}
        {data.recording !== null && <RecordingNote recording={data.recording} />}
        {data.deleted !== null && data.recording === null && (
          <div className="note warning" role="status">
            <WarningIcon />
            <span>{t('job.recorded', { time: dateAndTime(data.deleted, i18n.language) })}</span>
          </div>
        )}
        <TimeBar />
        <Tabs />
        <Outlet />
      </div>
    </Provider>
  );
}

function Head() {
  const job = useCurrentJob();
  const { t, i18n } = useTranslation();
  const now = useJobNow();
  const { summary } = job;
  return (
    <div className="job-head">
      <div className="job-head-text">
        <nav className="crumbs" aria-label={t('job.crumbs')}>
          <Link to="/jobs">{t('jobs.title')}</Link>
          <span aria-hidden="true">{'/'}</span>
          <Link to="/jobs" search={{ ns: summary.namespace }}>
            {summary.namespace}
          </Link>
          <span aria-hidden="true">{'/'}</span>
          <Link to="/jobs" search={{ kind: summary.kind }}>
            {summary.kindName}
          </Link>
        </nav>
        <h1 className="job-name">{summary.name}</h1>
        <p className="job-facts">
          <StatusWord status={statusOf(summary)} />
          {summary.attempt > 1 && <span>{t('job.attempt', { attempt: summary.attempt })}</span>}
          {summary.started !== null && summary.status !== 'Queued' && (
            <span>{t('job.ran', { time: between(summary.started, summary.ended, now) })}</span>
          )}
          <span title={dateAndTime(summary.created, i18n.language)}>
            {t('job.created', { age: since(summary.created, now) })}
          </span>
          {summary.owner !== '' && <span>{t('job.owner', { owner: summary.owner })}</span>}
          {summary.queue !== '' && <span>{t('job.queue', { queue: summary.queue })}</span>}
          <span className="quiet">{summary.apiVersion}</span>
        </p>
        {summary.description !== '' && <p className="job-description">{summary.description}</p>}
      </div>
      <JobActions job={job} />
    </div>
  );
}

function Tabs() {
  const job = useCurrentJob();
  const search = useMomentSearch();
  const { t } = useTranslation();
  const navigate = useNavigate();
  const matches = useMatchRoute();
  const params = useJobAddress();
  // TensorBoard runs beside a job that exists.
  const tabs = job.deleted === null && job.recording === null ? TABS : TABS.filter((tab) => tab.name !== 'tensorboard');
  const current = tabs.findIndex((tab) => matches({ to: tab.to, params, fuzzy: tab.name === 'replicas' }) !== false);
  const go = (step: number) => {
    const tab = tabs[current + step];
    if (tab) void navigate({ to: tab.to, params, search });
  };
  const bar = useRef<HTMLElement>(null);
  // In a narrow window the tabs are scrolled.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another tab is the current one.
  useEffect(() => {
    bar.current?.querySelector('.current')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [current]);
  useShortcuts([
    ['[', () => go(-1)],
    [']', () => go(1)],
  ]);
  const counts: Partial<Record<(typeof TABS)[number]['name'], number>> = {
    replicas: job.replicas.length + job.moreReplicas,
    events: job.events.length,
  };
  return (
    <nav className="tabs" aria-label={t('job.tabs')} ref={bar}>
      {tabs.map((tab, index) => (
        <Link
          key={tab.name}
          to={tab.to}
          params={params}
          search={search}
          className={index === current ? 'tab current' : 'tab'}
          aria-current={index === current ? 'page' : undefined}
        >
          {t(`tabs.${tab.name}`)}
          {counts[tab.name] !== undefined && <span className="count">{counts[tab.name]}</span>}
        </Link>
      ))}
    </nav>
  );
}

import { Code, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import type { Diagnosis, JobDetail } from '../api/contract.gen';
import { since } from '../format/time';
import { Sentence } from '../i18n/Sentence';
import { say } from '../i18n/say';
import { Devices, JobProgress } from '../jobs/JobCell';
import { ReplicaStatus } from '../jobs/StatusBadge';
import { Card } from './Card';
import { ConditionsCard } from './ConditionsCard';
import { FailureCard } from './FailureCard';
import { useCurrentJob, useJobAddress, useJobNow, useMomentSearch } from './jobContext';
import { Numbers } from './Numbers';
import { Timeline } from './Timeline';

export function OverviewTab() {
  const job = useCurrentJob();
  return (
    <div className="overview">
      {job.diagnosis.failure && <FailureCard job={job} failure={job.diagnosis.failure} />}
      <Why job={job} />
      {waits(job) && (
        <Suspense>
          <WhatIf job={job.summary} said={[...job.diagnosis.causes, ...job.diagnosis.pods].join('\n')} />
        </Suspense>
      )}
      <Timeline job={job} />
      <Numbers job={job} />
      <div className="columns">
        <Ranks job={job} />
        <Facts job={job} />
      </div>
      <ConditionsCard job={job} />
    </div>
  );
}

const WhatIf = lazy(() => import('../fit/WhatIf').then((module) => ({ default: module.WhatIf })));

/** Some replicas have no node: the scheduler can be asked why. */
function waits(job: JobDetail): boolean {
  // A deleted job, or one of a recording, waits for nothing.
  if (job.recording !== null || job.deleted !== null) return false;
  return job.replicas.some((replica) => replica.state === 'Pending' && replica.node === '');
}

function isEmpty(diagnosis: Diagnosis): boolean {
  return [diagnosis.causes, diagnosis.pods, diagnosis.warnings, diagnosis.remedies].every((each) => each.length === 0);
}

function Why({ job }: { readonly job: JobDetail }) {
  const { t } = useTranslation();
  const now = useJobNow();
  const { summary, diagnosis } = job;
  // The card of the failure has it all.
  if (diagnosis.failure?.final === true) return null;
  if (summary.why === null && summary.stalled === '' && isEmpty(diagnosis)) return null;
  return (
    <Card title={t('why.title')} {...(summary.stalled !== '' ? { tone: 'warning' as const } : {})}>
      <Stack gap={6}>
        {diagnosis.causes.length === 0 && summary.stalled !== '' && (
          <Text size="sm">
            <Sentence text={summary.stalled} />
          </Text>
        )}
        {diagnosis.causes.length === 0 && summary.why && (
          <Text size="sm" className="wrap">
            <strong>{summary.why.reason}</strong> <Sentence text={summary.why.message} />
            {summary.why.since !== null && <span className="quiet"> {since(summary.why.since, now)}</span>}
          </Text>
        )}
        {/* They name the reason of the job, too. */}
        <Sentences lines={diagnosis.causes} />
        <Sentences lines={diagnosis.pods} />
        <Sentences lines={diagnosis.warnings} />
        {diagnosis.evidence.length > 0 && <pre className="evidence">{diagnosis.evidence.join('\n')}</pre>}
        <Remedies diagnosis={diagnosis} />
      </Stack>
    </Card>
  );
}

export function Sentences({ lines }: { readonly lines: readonly string[] }) {
  return (
    <>
      {lines.map((line) => (
        <Text size="sm" key={line} className="wrap">
          <Sentence text={line} />
        </Text>
      ))}
    </>
  );
}

export function Remedies({ diagnosis }: { readonly diagnosis: Diagnosis }) {
  const { t } = useTranslation();
  if (diagnosis.remedies.length === 0 && diagnosis.commands.length === 0) return null;
  return (
    <div className="remedies">
      <h3>{t('why.next')}</h3>
      <Sentences lines={diagnosis.remedies} />
      {diagnosis.commands.map((command) => (
        <Code key={command} block>
          {command}
        </Code>
      ))}
    </div>
  );
}

/** Of one node; the list of replicas has them all. */
const MOST_CELLS = 200;

/** Every replica as a cell, grouped by node: which one is different is seen at once. */
function Ranks({ job }: { readonly job: JobDetail }) {
  const { t } = useTranslation();
  const params = useJobAddress();
  const search = useMomentSearch();
  const nodes = Map.groupBy(job.replicas, (replica) => replica.node);
  return (
    <Card title={t('ranks.title')}>
      {job.moreReplicas > 0 && (
        <p className="quiet">
          {t('ranks.some', { count: job.replicas.length })}{' '}
          <Link to="/jobs/$namespace/$kind/$name/replicas" params={params} search={search}>
            {t('ranks.all', { count: job.replicas.length + job.moreReplicas })}
          </Link>
        </p>
      )}
      {[...nodes].map(([node, replicas]) => (
        <div key={node} className="rank-node">
          <h3>{node === '' ? t('ranks.noNode') : node}</h3>
          <div className="rank-cells">
            {replicas.slice(0, MOST_CELLS).map((replica) => (
              <Link
                key={replica.name}
                to="/jobs/$namespace/$kind/$name/replicas/$replica"
                params={{ ...params, replica: replica.name }}
                search={search}
                className="rank-cell"
                title={say(replica.why) || replica.name}
              >
                <span className="rank-name">
                  {replica.name}
                  {replica.rank !== null && <span className="quiet"> {t('ranks.rank', { rank: replica.rank })}</span>}
                </span>
                <ReplicaStatus state={replica.state} />
              </Link>
            ))}
            {replicas.length > MOST_CELLS && (
              <Link to="/jobs/$namespace/$kind/$name/replicas" params={params} search={search}>
                {t('ranks.more', { count: replicas.length - MOST_CELLS })}
              </Link>
            )}
          </div>
        </div>
      ))}
    </Card>
  );
}

function Facts({ job }: { readonly job: JobDetail }) {
  const { t } = useTranslation();
  const { summary, restarts } = job;
  const facts: [string, ReactNode][] = [
    [t('facts.roles'), job.roles.map((role) => `${role.replicas} × ${role.name}`).join(' + ')],
    [t('facts.total'), String(summary.replicas.total)],
    [
      t('facts.resources'),
      Object.entries(summary.resources)
        .map(([name, value]) => `${name} ${value}`)
        .join(' · '),
    ],
    [t('facts.devices'), Object.keys(summary.devices).length > 0 && <Devices devices={summary.devices} />],
    [t('facts.restartPolicy'), [...new Set(job.roles.map((role) => role.restartPolicy))].join(', ')],
    [
      t('facts.restarts'),
      restarts.limit === null
        ? String(restarts.charged)
        : t('facts.restartsOf', { charged: restarts.charged, limit: restarts.limit }),
    ],
    [t('facts.disruptions'), restarts.disruptions > 0 && String(restarts.disruptions)],
    [t('facts.elastic'), job.elastic && `${job.elastic.role} ${job.elastic.min}–${job.elastic.max}`],
    [t('columns.priority'), summary.priority],
    [t('columns.progress'), summary.progress && <JobProgress job={summary} />],
  ];
  return (
    <Card title={t('facts.title')}>
      <dl className="facts">
        {facts
          .filter(([, value]) => value !== '' && value !== null && value !== false)
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
    </Card>
  );
}

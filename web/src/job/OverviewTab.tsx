import { Code, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { Diagnosis, JobDetail } from '../api/contract.gen';
import { since } from '../format/time';
import { useNow } from '../format/useNow';
import { Devices, ProgressBar } from '../jobs/JobCell';
import { ReplicaStatus } from '../jobs/StatusBadge';
import { FailureCard } from './FailureCard';
import { useCurrentJob, useJobAddress } from './jobContext';
import { Timeline } from './Timeline';

export function OverviewTab() {
  const job = useCurrentJob();
  return (
    <div className="overview">
      {job.diagnosis.failure && <FailureCard job={job} failure={job.diagnosis.failure} />}
      <Why job={job} />
      <Timeline job={job} />
      <div className="columns">
        <Ranks job={job} />
        <Facts job={job} />
      </div>
    </div>
  );
}

interface CardProps {
  readonly title: string;
  readonly children: ReactNode;
  readonly tone?: 'failed' | 'warning';
}

export function Card({ title, children, tone }: CardProps) {
  return (
    <section className={tone ? `card ${tone}` : 'card'} aria-label={title}>
      <h2 className="card-title">{title}</h2>
      {children}
    </section>
  );
}

function isEmpty(diagnosis: Diagnosis): boolean {
  return [diagnosis.causes, diagnosis.pods, diagnosis.warnings, diagnosis.remedies].every((each) => each.length === 0);
}

function Why({ job }: { readonly job: JobDetail }) {
  const { t } = useTranslation();
  const now = useNow();
  const { summary, diagnosis } = job;
  // The card of the failure has it all.
  if (diagnosis.failure?.final === true) return null;
  if (summary.why === null && summary.stalled === '' && isEmpty(diagnosis)) return null;
  return (
    <Card title={t('why.title')} {...(summary.stalled !== '' ? { tone: 'warning' as const } : {})}>
      <Stack gap={6}>
        {summary.stalled !== '' && <Text size="sm">{summary.stalled}</Text>}
        {summary.why && (
          <Text size="sm" className="wrap">
            <strong>{summary.why.reason}</strong> {summary.why.message}
            {summary.why.since !== null && <span className="quiet"> {since(summary.why.since, now)}</span>}
          </Text>
        )}
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
          {line}
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

/** Every replica as a cell, grouped by node: which one is different is seen at once. */
function Ranks({ job }: { readonly job: JobDetail }) {
  const { t } = useTranslation();
  const params = useJobAddress();
  const nodes = Map.groupBy(job.replicas, (replica) => replica.node);
  return (
    <Card title={t('ranks.title')}>
      {[...nodes].map(([node, replicas]) => (
        <div key={node} className="rank-node">
          <h3>{node === '' ? t('ranks.noNode') : node}</h3>
          <div className="rank-cells">
            {replicas.map((replica) => (
              <Link
                key={replica.name}
                to="/jobs/$namespace/$kind/$name/replicas/$replica"
                params={{ ...params, replica: replica.name }}
                className="rank-cell"
                title={replica.why || replica.name}
              >
                <span className="rank-name">
                  {replica.name}
                  {replica.rank !== null && <span className="quiet"> {t('ranks.rank', { rank: replica.rank })}</span>}
                </span>
                <ReplicaStatus state={replica.state} />
              </Link>
            ))}
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
    [t('columns.progress'), summary.progress && <ProgressBar progress={summary.progress} />],
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

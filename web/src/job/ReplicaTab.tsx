import { Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import type { Container, ContainerSpec, ReplicaDetail } from '../api/contract.gen';
import { asProblem, request } from '../api/http';
import { dateAndTime } from '../format/time';
import { say } from '../i18n/say';
import { jobPath } from '../jobs/actions';
import { ReplicaStatus } from '../jobs/StatusBadge';
import { ProblemState } from '../shell/ProblemState';
import { ReplicaTerminal } from '../terminal/ReplicaTerminal';
import { YamlEditor } from '../yaml/YamlEditor';
import { Card } from './Card';
import { EventTable } from './EventsTab';
import { isBy } from './jobAt';
import { useCurrentJob, useMoment, useMomentSearch } from './jobContext';

export function ReplicaTab() {
  const { t } = useTranslation();
  const params = useParams({ from: '/jobs/$namespace/$kind/$name/replicas/$replica' });
  const moment = useMoment();
  const search = useMomentSearch();
  const live = useCurrentJob().replicas.find((each) => each.name === params.replica);
  const { data, error, refetch } = useQuery({
    // A record does not change with the moment.
    queryKey: ['replica', params, ...(moment === null ? [live?.uid, live?.state, live?.restarts] : [])],
    queryFn: ({ signal }) =>
      request<ReplicaDetail>('GET', `${jobPath(params)}/replicas/${encodeURIComponent(params.replica)}`, { signal }),
    placeholderData: (before) => before,
  });
  if (error) return <ProblemState problem={asProblem(error)} retry={() => void refetch()} />;
  if (!data) return <Skeleton height={240} />;
  const replica = live ?? data.replica;
  const events = data.events.filter((each) => moment === null || isBy(each.first, moment));
  return (
    <div className="overview">
      <p className="job-facts">
        <strong>{replica.name}</strong>
        <ReplicaStatus state={replica.state} />
        {replica.rank !== null && <span>{t('ranks.rank', { rank: replica.rank })}</span>}
        {replica.node !== '' && <span>{t('failure.node', { node: replica.node })}</span>}
        <span className="quiet">{replica.pod}</span>
        <Link to="/jobs/$namespace/$kind/$name/logs" params={params} search={{ replica: replica.name, ...search }}>
          {t('tabs.logs')}
        </Link>
      </p>
      {replica.why !== '' && <p className="note warning">{say(replica.why)}</p>}
      <Card title={t('replica.containers')}>
        {[...replica.containers]
          .sort((a, b) => Number(a.init) - Number(b.init))
          .map((container) => (
            <ContainerState
              key={container.name}
              container={container}
              spec={data.containers.find((each) => each.name === container.name)}
            />
          ))}
      </Card>
      <ReplicaTerminal
        path={`${jobPath(params)}/replicas/${encodeURIComponent(params.replica)}`}
        replica={replica.name}
        running={replica.state === 'Running'}
      />
      {events.length > 0 && (
        <Card title={t('tabs.events')}>
          <EventTable events={events} />
        </Card>
      )}
      <Card title={t('replica.yaml')}>
        <YamlEditor text={data.yaml} label={t('replica.yaml')} />
      </Card>
    </div>
  );
}

interface ContainerProps {
  readonly container: Container;
  readonly spec: ContainerSpec | undefined;
}

function ContainerState({ container, spec }: ContainerProps) {
  const { t, i18n } = useTranslation();
  const ended = container.state === 'Terminated';
  return (
    <section className="container-state">
      <h3>
        {container.name} {container.init && <span className="tag">{t('replica.init')}</span>}
      </h3>
      <p className="job-facts">
        <span>{t(`containerState.${container.state}`)}</span>
        {container.reason !== '' && <span className="tag">{container.reason}</span>}
        {ended && container.exitCode !== null && <span>{t('failure.exitCode', { code: container.exitCode })}</span>}
        {container.signal !== null && <span>{t('replica.signal', { signal: container.signal })}</span>}
        <span>{t('replica.restarts', { count: container.restarts })}</span>
        {container.started !== null && (
          <span className="quiet">{t('replica.started', { time: dateAndTime(container.started, i18n.language) })}</span>
        )}
      </p>
      {container.message !== '' && <pre className="evidence">{container.message}</pre>}
      {spec && <Spec spec={spec} />}
    </section>
  );
}

function Spec({ spec }: { readonly spec: ContainerSpec }) {
  const { t } = useTranslation();
  return (
    <>
      <dl className="facts">
        <div>
          <dt>{t('replica.image')}</dt>
          <dd>
            <code>{spec.image}</code>
          </dd>
        </div>
        <div>
          <dt>{t('replica.command')}</dt>
          <dd>
            <code className="wrap">{[...spec.command, ...spec.args].join(' ')}</code>
          </dd>
        </div>
        {spec.workingDir !== '' && (
          <div>
            <dt>{t('replica.workingDir')}</dt>
            <dd>
              <code>{spec.workingDir}</code>
            </dd>
          </div>
        )}
      </dl>
      {spec.env.length > 0 && (
        <details className="data-table" open>
          <summary>{t('replica.env', { count: spec.env.length })}</summary>
          <table className="plain">
            <tbody>
              {spec.env.map((variable) => (
                <tr key={variable.name}>
                  <th scope="row">
                    <code>{variable.name}</code>
                  </th>
                  <td className="wrap">
                    {variable.source === '' ? (
                      <code>{variable.value}</code>
                    ) : (
                      <span className="quiet">{variable.source}</span>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </details>
      )}
      {spec.mounts.length > 0 && (
        <details className="data-table">
          <summary>{t('replica.mounts', { count: spec.mounts.length })}</summary>
          <table className="plain">
            <tbody>
              {spec.mounts.map((mount) => (
                <tr key={mount.path}>
                  <th scope="row">
                    <code>{mount.path}</code>
                  </th>
                  <td>
                    {mount.volume} <span className="quiet">{mount.kind}</span>{' '}
                    {mount.readOnly && <span className="tag">{t('replica.readOnly')}</span>}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </details>
      )}
    </>
  );
}

import { Group, NativeSelect, SegmentedControl } from '@mantine/core';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import type { Replica } from '../api/contract.gen';
import { since } from '../format/time';
import { say } from '../i18n/say';
import { ReplicaStatus } from '../jobs/StatusBadge';
import { shown } from '../metrics/charts';
import { ProblemText } from '../shell/ProblemState';
import { useCurrentJob, useJobAddress, useJobNow, useMoment, useMomentSearch } from './jobContext';
import { REPLICA_STATES, type ReplicaRows, replicaState, searchOf, useReplicaRows } from './replicaRows';
import { useUsage } from './UsageCard';
import type { Used } from './usageNow';

const FROM = '/jobs/$namespace/$kind/$name/replicas';

export function ReplicasTab() {
  const { t } = useTranslation();
  const job = useCurrentJob();
  const { role = '', state } = useSearch({ from: FROM });
  const navigate = useNavigate({ from: FROM });
  const moment = useMomentSearch();
  const rows = useReplicaRows(job, { role, state: state ?? '' }, useMoment() === null);
  return (
    <>
      <Group gap="xs">
        {job.roles.length > 1 && (
          <SegmentedControl
            size="xs"
            aria-label={t('replicas.role')}
            value={role}
            onChange={(value) => void navigate({ search: { ...searchOf(value, state), ...moment }, replace: true })}
            data={[{ value: '', label: t('replicas.all') }, ...job.roles.map((each) => each.name)]}
          />
        )}
        <NativeSelect
          size="xs"
          aria-label={t('columns.state')}
          value={state ?? ''}
          onChange={(event) =>
            void navigate({
              search: { ...searchOf(role, replicaState(event.currentTarget.value)), ...moment },
              replace: true,
            })
          }
          data={[
            { value: '', label: t('replicas.anyState') },
            ...REPLICA_STATES.map((each) => ({ value: each, label: t(`replicaState.${each}`) })),
          ]}
        />
        <span className="quiet" role="status">
          {t('replicas.count', { count: rows.total })}
        </span>
      </Group>
      {rows.problem && <ProblemText problem={rows.problem} />}
      <ReplicaTable rows={rows} />
    </>
  );
}

const ROW = 50;
const COLUMNS =
  'minmax(106px, 2fr) 40px minmax(104px, 2fr) minmax(76px, 1fr) 84px 58px 72px 44px 62px minmax(88px, 1fr) 54px 40px';
const HEADINGS = [
  'replica',
  'rank',
  'state',
  'node',
  'ip',
  'restarts',
  'exitCode',
  'cpu',
  'memory',
  'requests',
  'age',
] as const;

/** Only the rows in view are in the document: ten thousand pods scroll like ten. */
function ReplicaTable({ rows: { total, at, show } }: { readonly rows: ReplicaRows }) {
  const { t } = useTranslation();
  const scroller = useRef<HTMLDivElement>(null);
  const byReplica = useUsage();
  const rows = useVirtualizer({
    count: total,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 12,
  });
  const visible = rows.getVirtualItems();
  const [first, last] = [visible[0]?.index ?? 0, visible.at(-1)?.index ?? 0];
  useEffect(() => show(first, last), [show, first, last]);
  return (
    <div
      className="table-scroller replica-table"
      ref={scroller}
      role="table"
      aria-label={t('tabs.replicas')}
      aria-rowcount={total + 1}
    >
      <div className="table-head" role="row" aria-rowindex={1} style={{ gridTemplateColumns: COLUMNS }}>
        {HEADINGS.map((name) => (
          <span key={name} role="columnheader">
            {t(`columns.${name}`)}
          </span>
        ))}
        <span role="columnheader">{t('tabs.logs')}</span>
      </div>
      <div role="rowgroup" className="table-body" style={{ height: rows.getTotalSize() }}>
        {visible.map((item) => {
          const replica = at(item.index);
          return (
            replica && (
              <div
                key={item.key}
                role="row"
                aria-rowindex={item.index + 2}
                className="table-row"
                style={{ gridTemplateColumns: COLUMNS, height: ROW, transform: `translateY(${item.start}px)` }}
              >
                <ReplicaCells replica={replica} used={byReplica.get(replica.name)} />
              </div>
            )
          );
        })}
      </div>
    </div>
  );
}

interface CellsProps {
  readonly replica: Replica;
  readonly used: Used | undefined;
}

function ReplicaCells({ replica, used }: CellsProps) {
  const { t } = useTranslation();
  const params = useJobAddress();
  const now = useJobNow();
  const search = useMomentSearch();
  return (
    <>
      <span role="cell">
        <Link
          to="/jobs/$namespace/$kind/$name/replicas/$replica"
          params={{ ...params, replica: replica.name }}
          search={search}
          className="job-link"
        >
          {replica.name}
        </Link>
        {replica.pod !== '' && <span className="second">{replica.pod}</span>}
      </span>
      <span role="cell">{replica.rank ?? '–'}</span>
      <span role="cell">
        <ReplicaStatus state={replica.state} />
        {replica.why !== '' && (
          <span className="second" title={say(replica.why)}>
            {say(replica.why)}
          </span>
        )}
      </span>
      <span role="cell">{replica.node}</span>
      <span role="cell">{replica.ip}</span>
      <span role="cell">{replica.restarts}</span>
      <span role="cell">{replica.exitCode ?? ''}</span>
      <span role="cell">{used ? shown(used.cpu, 'cores') : ''}</span>
      <span role="cell">{used ? shown(used.memory, 'bytes') : ''}</span>
      <Requests requests={replica.requests} />
      <span role="cell">{since(replica.created, now)}</span>
      <span role="cell">
        <Link to="/jobs/$namespace/$kind/$name/logs" params={params} search={{ replica: replica.name, ...search }}>
          {t('tabs.logs')}
        </Link>
      </span>
    </>
  );
}

const REQUEST_LINES = 2;

/** A resource in each line, and the last line for the rest. */
function Requests({ requests }: Pick<Replica, 'requests'>) {
  const amounts = Object.entries(requests).map(([name, value]) => `${name.split('/').at(-1)} ${value}`);
  const lines = [...amounts.slice(0, REQUEST_LINES - 1), amounts.slice(REQUEST_LINES - 1).join(' · ')];
  return (
    <span role="cell" title={amounts.join(' · ')}>
      {lines.map((line) => (
        <span key={line} className="second">
          {line}
        </span>
      ))}
    </span>
  );
}

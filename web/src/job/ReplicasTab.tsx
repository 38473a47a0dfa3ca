import { SegmentedControl } from '@mantine/core';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import type { Replica } from '../api/contract.gen';
import { since } from '../format/time';
import { useNow } from '../format/useNow';
import { ReplicaStatus } from '../jobs/StatusBadge';
import { useCurrentJob, useJobAddress } from './jobContext';

const FROM = '/jobs/$namespace/$kind/$name/replicas';

export function ReplicasTab() {
  const { t } = useTranslation();
  const job = useCurrentJob();
  const { role = '' } = useSearch({ from: FROM });
  const navigate = useNavigate({ from: FROM });
  const shown = job.replicas.filter((replica) => role === '' || replica.role === role);
  return (
    <>
      {job.roles.length > 1 && (
        <SegmentedControl
          size="xs"
          aria-label={t('replicas.role')}
          value={role}
          onChange={(value) => void navigate({ search: value === '' ? {} : { role: value }, replace: true })}
          data={[{ value: '', label: t('replicas.all') }, ...job.roles.map((each) => each.name)]}
        />
      )}
      <div className="table-box">
        <table className="plain wide">
          <thead>
            <tr>
              <th>{t('columns.replica')}</th>
              <th>{t('columns.rank')}</th>
              <th>{t('columns.state')}</th>
              <th>{t('columns.node')}</th>
              <th>{t('columns.ip')}</th>
              <th>{t('columns.restarts')}</th>
              <th>{t('columns.exitCode')}</th>
              <th>{t('columns.requests')}</th>
              <th>{t('columns.age')}</th>
              <th>{t('tabs.logs')}</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((replica) => (
              <ReplicaRow key={replica.name} replica={replica} />
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function ReplicaRow({ replica }: { readonly replica: Replica }) {
  const { t } = useTranslation();
  const params = useJobAddress();
  const now = useNow();
  return (
    <tr>
      <td>
        <Link
          to="/jobs/$namespace/$kind/$name/replicas/$replica"
          params={{ ...params, replica: replica.name }}
          className="job-link"
        >
          {replica.name}
        </Link>
        {replica.pod !== '' && <span className="second">{replica.pod}</span>}
      </td>
      <td>{replica.rank ?? '–'}</td>
      <td>
        <ReplicaStatus state={replica.state} />
        {replica.why !== '' && <span className="second wrap">{replica.why}</span>}
      </td>
      <td>{replica.node}</td>
      <td>{replica.ip}</td>
      <td>{replica.restarts}</td>
      <td>{replica.exitCode ?? ''}</td>
      <td>
        {Object.entries(replica.requests)
          .map(([name, value]) => `${name.split('/').at(-1)} ${value}`)
          .join(' · ')}
      </td>
      <td>{since(replica.created, now)}</td>
      <td>
        <Link to="/jobs/$namespace/$kind/$name/logs" params={params} search={{ replica: replica.name }}>
          {t('tabs.logs')}
        </Link>
      </td>
    </tr>
  );
}

import { Skeleton } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import type { Node, NodeDevices, NodeList } from '../api/contract.gen';
import { asProblem } from '../api/http';
import { Sentence } from '../i18n/Sentence';
import { say } from '../i18n/say';
import { SucceededIcon, WarningIcon } from '../icons';
import { ProblemState } from '../shell/ProblemState';
import { useTitle } from '../shell/useTitle';
import { ShareBar } from './ShareBar';
import { shareOf } from './shares';
import { useClusterList } from './useCluster';

/** What each node has, what is asked of it, what is used, and who holds its devices. */
export function NodesPage() {
  const { t } = useTranslation();
  useTitle(t('nodes.title'));
  const { data, error, refetch } = useClusterList<NodeList>('nodes');
  if (error && !data) return <ProblemState problem={asProblem(error)} retry={() => void refetch()} />;
  return (
    <div className="page cluster-page">
      <h1 className="page-title">{t('nodes.title')}</h1>
      {data?.notes.map((note) => (
        <p key={note} className="note warning">
          <span>
            <Sentence text={note} />
          </span>
        </p>
      ))}
      {!data && <Skeleton height={200} />}
      {data && (
        <div className="table-box" role="region" aria-label={t('nodes.title')} tabIndex={0}>
          <table className="plain wide">
            <thead>
              <tr>
                <th>{t('columns.node')}</th>
                <th>{t('columns.state')}</th>
                <th>{t('usage.cpu')}</th>
                <th>{t('wizard.memory')}</th>
                <th>{t('columns.devices')}</th>
                <th>{t('jobs.title')}</th>
              </tr>
            </thead>
            <tbody>
              {data.nodes.map((node) => (
                <NodeRow key={node.name} node={node} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}

function NodeRow({ node }: { readonly node: Node }) {
  const { t } = useTranslation();
  return (
    <tr>
      <th scope="row">
        {node.name}
        {node.taints.map((taint) => (
          <span key={taint} className="second">
            {taint}
          </span>
        ))}
      </th>
      <td>
        <NodeState node={node} />
      </td>
      {['cpu', 'memory'].map((resource) => (
        <td key={resource}>
          <ShareBar share={shareOf(resource, node.used, node.requested, node.allocatable)} />
        </td>
      ))}
      <td>
        {node.devices.length === 0 && <span className="quiet">{t('nodes.noDevices')}</span>}
        {node.devices.map((devices) => (
          <Devices key={devices.resource} devices={devices} />
        ))}
      </td>
      <td>
        {node.jobs.map((job) => (
          <JobLink key={job} job={job} />
        ))}
      </td>
    </tr>
  );
}

function NodeState({ node }: { readonly node: Node }) {
  const { t } = useTranslation();
  if (!node.ready)
    return (
      <span className="status failed" title={say(node.message)}>
        <WarningIcon size={14} />
        {t('nodes.notReady')}
      </span>
    );
  return (
    <span className={node.schedulable ? 'status succeeded' : 'status warning'}>
      {node.schedulable ? <SucceededIcon size={14} /> : <WarningIcon size={14} />}
      {node.schedulable ? t('nodes.ready') : t('nodes.cordoned')}
    </span>
  );
}

/** How many are held, and one mark for each device: by whom. Shares of memory are too many for marks. */
function Devices({ devices }: { readonly devices: NodeDevices }) {
  const { t } = useTranslation();
  return (
    <div className="devices">
      <span>
        {devices.resource} {t('nodes.held', { held: devices.requested, total: devices.allocatable })}
      </span>
      {devices.devices.length === devices.allocatable && <DeviceMarks devices={devices} />}
    </div>
  );
}

function DeviceMarks({ devices }: { readonly devices: NodeDevices }) {
  const { t } = useTranslation();
  return (
    <ul className="device-marks" aria-label={devices.resource}>
      {devices.devices.map((device, at) => {
        const holder =
          device.pod === '' ? t('nodes.free') : `${device.namespace}/${device.job || device.pod} ${device.replica}`;
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: devices have no name but their place.
          <li key={at} className={device.pod === '' ? 'device-mark' : 'device-mark held'} title={holder}>
            <span className="hidden-text">{holder}</span>
          </li>
        );
      })}
    </ul>
  );
}

function JobLink({ job }: { readonly job: string }) {
  const [namespace = '', kind = '', name = ''] = job.split('/');
  return (
    <Link className="node-job" to="/jobs/$namespace/$kind/$name" params={{ namespace, kind, name }}>
      {name}
    </Link>
  );
}

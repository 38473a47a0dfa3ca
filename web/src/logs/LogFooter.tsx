import { Button, Menu } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { LogPage, LogSource, Replica } from '../api/contract.gen';
import { asProblem, download, request } from '../api/http';
import { clockOfLine } from '../format/time';
import { say } from '../i18n/say';
import { CopyIcon, DownloadIcon, LinkIcon } from '../icons';
import { linesAt } from '../job/jobAt';
import { useCurrentJob, useJobAddress, useMoment } from '../job/jobContext';
import { jobPath } from '../jobs/actions';
import type { ChangeLogSearch } from './LogsTab';
import { endOf } from './logEnd';
import { type LogSearch, logQuery, MOST_OF_THE_PAST, mayHaveOlder } from './logSearch';
import { plainText } from './terminalLine';
import type { Logs } from './useLogs';

interface Props {
  readonly feed: Logs;
  readonly search: LogSearch;
  readonly change: ChangeLogSearch;
  readonly chosen: readonly [number, number] | null;
  /** Leaves the lines around a moment. */
  readonly showLast: () => void;
}

export function LogFooter({ feed, search, change, chosen, showLast }: Props) {
  const { t } = useTranslation();
  const { window: logs } = feed;
  const moment = useMoment();
  const { replicas } = useCurrentJob();
  const sources = [...logs.sources.values()].filter((each) => moment === null || hasEnded(each, replicas));
  const count = moment === null ? logs.lines.length : linesAt(logs.lines, moment);
  return (
    <footer className="log-footer">
      {feed.end?.reason === 'Finished' && moment === null && (
        <span className="log-end" role="status">
          {t('logs.ended')}
        </span>
      )}
      {sources.map((source) => (
        <SourceEnd key={source.source} source={source} />
      ))}
      <Matches search={search} />
      <span className="quiet">{t('logs.lines', { count })}</span>
      {search.all === '1' && logs.lines.length >= MOST_OF_THE_PAST && <span className="quiet">{t('logs.older')}</span>}
      {logs.dropped > 0 && <span className="quiet">{t('logs.dropped', { count: logs.dropped })}</span>}
      {logs.skipped > 0 && <span className="quiet">{t('logs.skipped', { count: logs.skipped })}</span>}
      {mayHaveOlder(search, logs.received) && (
        <Button size="compact-xs" variant="subtle" onClick={() => change({ all: '1' })}>
          {t('logs.loadAll')}
        </Button>
      )}
      {feed.end?.reason === 'Limited' && (
        <Button size="compact-xs" variant="subtle" onClick={showLast}>
          {t('logs.later')}
        </Button>
      )}
      <span className="grow" />
      <Chosen feed={feed} chosen={chosen} />
      <Downloads search={search} />
    </footer>
  );
}

/** At the moment that the page shows. */
function hasEnded(source: LogSource, replicas: readonly Replica[]): boolean {
  const containers = replicas.find((each) => each.name === source.replica)?.containers ?? [];
  return containers.some((each) => each.name === source.container && each.state === 'Terminated');
}

function SourceEnd({ source }: { readonly source: LogSource }) {
  const { t } = useTranslation();
  const job = useCurrentJob();
  if (source.error !== '') return <span className="status warning">{`${source.source}: ${say(source.error)}`}</span>;
  if (!source.ended || source.exitCode === null) return null;
  const end = endOf(source, job);
  if (end === 'stopped') return <span className="tag">{t('logs.stopped', { replica: source.replica })}</span>;
  return (
    <span className={`tag ${end === 'failed' ? 'failed' : ''}`}>
      {t('logs.exit', { replica: source.replica, code: source.exitCode })}
      {end === 'failed' && source.reason !== '' && ` ${source.reason}`}
    </span>
  );
}

/** How many of all kept lines match, whatever the window has. */
function Matches({ search }: { readonly search: LogSearch }) {
  const { t } = useTranslation();
  const { summary } = useCurrentJob();
  const address = useJobAddress();
  const query = logQuery(search, true);
  query.delete('since');
  query.set('limit', '1');
  const { data, error } = useQuery({
    queryKey: ['matches', summary.uid, query.toString()],
    queryFn: ({ signal }) => request<LogPage>('GET', `${jobPath(address)}/logs?${query}`, { signal }),
    enabled: search.q !== undefined,
  });
  if (search.q === undefined) return null;
  if (error) return <span className="status warning">{say(asProblem(error).message)}</span>;
  return data ? <strong role="status">{t('logs.matches', { count: data.matches })}</strong> : null;
}

function Chosen({ feed, chosen }: Pick<Props, 'feed' | 'chosen'>) {
  const { t } = useTranslation();
  if (chosen === null) return null;
  const from = Math.min(...chosen);
  const lines = feed.window.lines.slice(from, Math.max(...chosen) + 1);
  const copy = async (text: string) => {
    await navigator.clipboard.writeText(text);
    notifications.show({ message: t('logs.copied') });
  };
  const text = () =>
    lines.map((line) => `${clockOfLine(line.time)} ${line.replica} ${plainText(line.text)}`).join('\n');
  return (
    <>
      <Button
        size="compact-xs"
        variant="default"
        leftSection={<LinkIcon size={12} />}
        onClick={() => void copy(window.location.href)}
      >
        {t('logs.copyLink')}
      </Button>
      <Button
        size="compact-xs"
        variant="default"
        leftSection={<CopyIcon size={12} />}
        onClick={() => void copy(text())}
      >
        {t('logs.copyLines', { count: lines.length })}
      </Button>
    </>
  );
}

function Downloads({ search }: Pick<Props, 'search'>) {
  const { t } = useTranslation();
  const { summary } = useCurrentJob();
  const address = useJobAddress();
  const save = async (query: URLSearchParams, name: string) => {
    query.set('format', 'text');
    query.set('download', '1');
    try {
      await download(`${jobPath(address)}/logs?${query}`, name);
    } catch (error) {
      notifications.show({ color: 'red', message: say(asProblem(error).message) });
    }
  };
  return (
    <Menu position="top-end">
      <Menu.Target>
        <Button size="compact-xs" variant="default" leftSection={<DownloadIcon size={12} />}>
          {t('logs.download')}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => void save(logQuery(search, true), `${summary.name}-view.log`)}>
          {t('logs.downloadView')}
        </Menu.Item>
        <Menu.Item onClick={() => void save(new URLSearchParams(), `${summary.name}.log`)}>
          {t('logs.downloadAll')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

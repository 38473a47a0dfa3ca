import { Button, Group, Text } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { JobMetrics } from '../api/contract.gen';
import { useMetrics } from '../api/topics';
import { saveText } from '../format/saveText';
import { Sentence } from '../i18n/Sentence';
import { DownloadIcon } from '../icons';
import { Card } from '../job/Card';
import { metricsAt } from '../job/jobAt';
import { useCurrentJob, useJobAddress, useMoment } from '../job/jobContext';
import { ProblemState } from '../shell/ProblemState';
import { type Chart, chartsOf, csv, latest, shown } from './charts';
import { LineChart } from './LineChart';
import { PatternField } from './PatternField';
import { useChartName } from './useChartName';

const COLORS = 8;
const FROM = '/jobs/$namespace/$kind/$name/metrics';

function metricsQuery(pattern: string): string {
  return pattern === '' ? '' : `?${new URLSearchParams({ pattern })}`;
}

/** What replicas use, and the numbers that they print. */
export function MetricsTab() {
  const { t } = useTranslation();
  const { namespace, kind, name } = useJobAddress();
  const { pattern = '' } = useSearch({ from: FROM });
  const navigate = useNavigate({ from: FROM });
  const { data, error } = useMetrics(namespace, kind, name, metricsQuery(pattern));
  const moment = useMoment();
  const charts = useMemo(() => {
    if (!data) return [];
    return chartsOf(moment === null ? data : metricsAt(data, moment));
  }, [data, moment]);
  // The field stays the same element when the first data comes, so that it keeps what is typed.
  return (
    <div className="overview">
      {data && (
        <Group justify="space-between">
          <Text size="sm" c="dimmed">
            {t('metrics.interval', { seconds: data.interval })}
          </Text>
          <Button
            size="xs"
            variant="default"
            leftSection={<DownloadIcon size={13} />}
            disabled={charts.length === 0}
            onClick={() => saveText(csv(charts), `${name}-metrics.csv`, 'text/csv')}
          >
            {t('metrics.csv')}
          </Button>
        </Group>
      )}
      <PatternField
        pattern={pattern}
        use={(next) =>
          void navigate({
            search: ({ pattern: _, ...before }) => (next === '' ? before : { ...before, pattern: next }),
            replace: true,
          })
        }
      />
      {data && <Charts data={data} charts={charts} byPattern={pattern !== ''} />}
      {!data && error && <ProblemState problem={error} />}
      {!data && !error && <Text c="dimmed">{t('logs.loading')}</Text>}
    </div>
  );
}

interface ChartsProps {
  readonly data: JobMetrics;
  readonly charts: readonly Chart[];
  readonly byPattern: boolean;
}

function Charts({ data, charts, byPattern }: ChartsProps) {
  const { t } = useTranslation();
  return (
    <>
      {[data.unavailable, ...data.errors]
        .filter((each) => each !== '')
        .map((each) => (
          <p key={each} className="note warning">
            <Sentence text={each} />
          </p>
        ))}
      {charts.length === 0 && <Text c="dimmed">{t('metrics.none')}</Text>}
      <div className="columns">
        {charts.map((chart) => (
          <ChartCard key={`${chart.guessed}${chart.name}`} chart={chart} byPattern={byPattern} />
        ))}
      </div>
    </>
  );
}

function ChartCard({ chart, byPattern }: { readonly chart: Chart; readonly byPattern: boolean }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const params = useJobAddress();
  const { replicas } = useCurrentJob();
  const title = useChartName(chart);
  const colorOf = (replica: string) =>
    Math.max(
      0,
      replicas.findIndex((each) => each.name === replica),
    ) % COLORS;
  const toLogs = (time: number) =>
    void navigate({
      to: '/jobs/$namespace/$kind/$name/logs',
      params,
      search: { t: new Date(time).toISOString() },
    });
  return (
    <Card title={title}>
      {chart.guessed && <span className="tag">{t(byPattern ? 'metrics.byPattern' : 'metrics.guessed')}</span>}
      <LineChart chart={chart} colorOf={colorOf} onTime={toLogs} />
      <ul className="chart-legend">
        {chart.lines.map((line) => (
          <li key={line.replica} className={`rank-${colorOf(line.replica)}`}>
            <span className="rank-dot" aria-hidden="true" /> {line.replica}{' '}
            <strong>{shown(latest(line), chart.unit)}</strong>
          </li>
        ))}
        {chart.limit !== null && (
          <li className="quiet">{t('metrics.limit', { limit: shown(chart.limit, chart.unit) })}</li>
        )}
      </ul>
      <DataTable chart={chart} />
    </Card>
  );
}

const ROWS = 60;

/** The last points as numbers. */
function DataTable({ chart }: { readonly chart: Chart }) {
  const { t, i18n } = useTranslation();
  const format = new Intl.DateTimeFormat(i18n.language, { timeStyle: 'medium', hourCycle: 'h23' });
  return (
    <details className="data-table">
      <summary>{t('timeline.table')}</summary>
      <div className="chart-table">
        <table className="plain">
          <tbody>
            {chart.lines.flatMap((line) =>
              line.times.slice(-ROWS).map((time, index, shownTimes) => (
                <tr key={`${line.replica} ${time}`}>
                  <th scope="row">{line.replica}</th>
                  <td>{format.format(time)}</td>
                  <td>{shown(line.values.at(index - shownTimes.length) ?? null, chart.unit)}</td>
                </tr>
              )),
            )}
          </tbody>
        </table>
      </div>
    </details>
  );
}

import { Link, useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { Card } from '../job/Card';
import { useCurrentJob, useJobAddress, useMomentSearch } from '../job/jobContext';
import { type Chart, latest, shown } from './charts';
import { LineChart } from './LineChart';

const COLORS = 8;

/** Loss and throughput on the overview. The tab of the metrics has all numbers, and tables of them. */
export function HeadlineCharts({ charts }: { readonly charts: readonly Chart[] }) {
  return (
    <div className="columns">
      {charts.map((chart) => (
        <Headline key={chart.name} chart={chart} />
      ))}
    </div>
  );
}

function Headline({ chart }: { readonly chart: Chart }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const params = useJobAddress();
  const search = useMomentSearch();
  const { replicas } = useCurrentJob();
  const at = new Map(replicas.map((each, index) => [each.name, index % COLORS]));
  const toLogs = (time: number) =>
    void navigate({
      to: '/jobs/$namespace/$kind/$name/logs',
      params,
      search: { t: new Date(time).toISOString() },
    });
  const [line] = chart.lines;
  return (
    <Card title={chart.name}>
      <p className="job-facts">
        {line && (
          <span>
            {line.replica} <strong>{shown(latest(line), chart.unit)}</strong>
          </span>
        )}
        <span className="tag">{t('metrics.guessed')}</span>
        <Link to="/jobs/$namespace/$kind/$name/metrics" params={params} search={search}>
          {t('metrics.all')}
        </Link>
      </p>
      <LineChart chart={chart} height={110} colorOf={(replica) => at.get(replica) ?? 0} onTime={toLogs} />
    </Card>
  );
}

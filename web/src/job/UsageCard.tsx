import { useTranslation } from 'react-i18next';
import type { JobDetail, JobMetrics, UsageSeries } from '../api/contract.gen';
import { useMetrics } from '../api/topics';
import { shown } from '../metrics/charts';
import { Card } from './Card';
import { metricsAt } from './jobAt';
import { useJobAddress, useMoment } from './jobContext';
import { latestUsage, totalUsage, type Used } from './usageNow';

const WITHOUT_OUTPUT = '?output=0';

/** The metrics until the moment that the page shows. Null: they are not known yet. */
export function useMetricsNow(query = ''): JobMetrics | null {
  const { namespace, kind, name } = useJobAddress();
  const { data } = useMetrics(namespace, kind, name, query);
  const moment = useMoment();
  return data && moment !== null ? metricsAt(data, moment) : data;
}

/** What each replica used when it was last measured, by its name. */
export function useUsage(): ReadonlyMap<string, Used> {
  return latestUsage(useMetricsNow(WITHOUT_OUTPUT)?.usage ?? []);
}

interface Props {
  readonly job: JobDetail;
  readonly series: readonly UsageSeries[];
}

/** What the replicas use together, and what they request. */
export function UsageCard({ job, series }: Props) {
  const { t } = useTranslation();
  const total = totalUsage(series);
  if (total === null || job.replicas.every((replica) => replica.state !== 'Running')) return null;
  return (
    <Card title={t('usageNow.title')}>
      <dl className="facts">
        <Amount
          name={t('usageNow.cpu')}
          used={shown(total.cpu, 'cores')}
          requested={shown(total.cpuRequest, 'cores')}
        />
        <Amount
          name={t('usageNow.memory')}
          used={shown(total.memory, 'bytes')}
          requested={shown(total.memoryRequest, 'bytes')}
        />
      </dl>
    </Card>
  );
}

interface AmountProps {
  readonly name: string;
  readonly used: string;
  readonly requested: string;
}

function Amount({ name, used, requested }: AmountProps) {
  const { t } = useTranslation();
  return (
    <div>
      <dt>{name}</dt>
      <dd>{requested === '' ? used : t('usageNow.of', { used, requested })}</dd>
    </div>
  );
}

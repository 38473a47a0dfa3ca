import { lazy, Suspense, useMemo } from 'react';
import type { JobDetail } from '../api/contract.gen';
import { chartsOf } from '../metrics/charts';
import { headlines } from '../metrics/headlines';
import { UsageCard, useMetricsNow } from './UsageCard';

const HeadlineCharts = lazy(() =>
  import('../metrics/HeadlineCharts').then((module) => ({ default: module.HeadlineCharts })),
);

/** What the replicas print and use. */
export function Numbers({ job }: { readonly job: JobDetail }) {
  const metrics = useMetricsNow();
  const charts = useMemo(() => (metrics === null ? [] : headlines(chartsOf(metrics))), [metrics]);
  return (
    <>
      {charts.length > 0 && (
        <Suspense>
          <HeadlineCharts charts={charts} />
        </Suspense>
      )}
      <UsageCard job={job} series={metrics?.usage ?? []} />
    </>
  );
}

import { useElementSize } from '@mantine/hooks';
import { useContext } from 'react';
import { useTranslation } from 'react-i18next';
import type { JobDetail } from '../api/contract.gen';
import { clock, duration } from '../format/time';
import { Card } from './Card';
import { RecordContext, useJobNow } from './jobContext';
import { type Bar, type Chart, chartOf, ticks } from './timelineScale';

const ROW = 22;
const HEAD = 20;
const LABEL = 120;
const SMALLEST = 480;
const MOST_ROWS = 200;

/** The phases of every replica over time. The table below it has the same facts. */
export function Timeline({ job }: { readonly job: JobDetail }) {
  const { t } = useTranslation();
  const now = useJobNow();
  const record = useContext(RecordContext);
  const moment = record?.at ?? null;
  if (moment === null && job.timeline.every((row) => row.phases.length === 0)) return null;
  const total = job.timeline.length + job.moreReplicas;
  const chart = chartOf(
    { ...job, timeline: job.timeline.slice(0, MOST_ROWS) },
    now,
    moment === null ? undefined : record?.time,
  );
  return (
    <Card title={t('timeline.title')}>
      <Gantt chart={chart} moment={moment} />
      <Legend chart={chart} />
      {total > MOST_ROWS && <p className="quiet">{t('timeline.first', { count: MOST_ROWS, total })}</p>}
      <details className="data-table">
        <summary>{t('timeline.table')}</summary>
        <PhaseTable chart={chart} />
      </details>
    </Card>
  );
}

interface GanttProps {
  readonly chart: Chart;
  readonly moment: number | null;
}

function Gantt({ chart, moment }: GanttProps) {
  const { t, i18n } = useTranslation();
  // One unit is one pixel: the text has its size at every width.
  const { ref, width: available } = useElementSize();
  const width = Math.max(SMALLEST, available);
  const x = (time: number) => LABEL + ((time - chart.start) / (chart.end - chart.start)) * (width - LABEL - 16);
  const height = HEAD + chart.rows.length * ROW;
  return (
    <div ref={ref} className="scrolls">
      <svg className="gantt" width={width} height={height} role="img" aria-label={t('timeline.label')}>
        {ticks(chart.start, chart.end).map((tick) => (
          <g key={tick} className="gantt-tick">
            <line x1={x(tick)} x2={x(tick)} y1={HEAD - 4} y2={height} />
            <text x={Math.min(x(tick), width - 30)} y={HEAD - 8} textAnchor="middle">
              {clock(tick, i18n.language)}
            </text>
          </g>
        ))}
        {moment !== null && <line className="gantt-moment" x1={x(moment)} x2={x(moment)} y1={HEAD - 4} y2={height} />}
        {chart.rows.map((row, index) => (
          <g key={row.replica} transform={`translate(0 ${HEAD + index * ROW})`}>
            <text x={0} y={ROW / 2 + 4} className="gantt-name">
              {row.replica}
            </text>
            {row.bars.map((bar) => (
              <PhaseBar key={`${bar.name}${bar.start}`} bar={bar} x={x} />
            ))}
          </g>
        ))}
      </svg>
    </div>
  );
}

interface BarProps {
  readonly bar: Bar;
  readonly x: (time: number) => number;
}

function PhaseBar({ bar, x }: BarProps) {
  const { t } = useTranslation();
  const title = [t(`phase.${bar.name}`), duration(bar.end - bar.start), bar.text].filter(Boolean).join(' · ');
  const mark = { Succeeded: '✔', Failed: '✖', Lost: '✖' }[bar.name as string];
  if (mark !== undefined)
    return (
      <text x={x(bar.start) + 6} y={ROW / 2 + 4} textAnchor="middle" className={`gantt-mark ${bar.name}`}>
        <title>{title}</title>
        {mark}
      </text>
    );
  return (
    <rect
      className={`gantt-bar ${bar.name}`}
      x={x(bar.start)}
      y={4}
      width={Math.max(1.5, x(bar.end) - x(bar.start))}
      height={ROW - 8}
      rx={2}
    >
      <title>{title}</title>
    </rect>
  );
}

function Legend({ chart }: { readonly chart: Chart }) {
  const { t } = useTranslation();
  const names = [...new Set(chart.rows.flatMap((row) => row.bars.map((bar) => bar.name)))];
  return (
    <p className="legend">
      {names.map((name) => (
        <span key={name}>
          <span className={`legend-mark ${name}`} aria-hidden="true">
            {{ Succeeded: '✔', Failed: '✖', Lost: '✖' }[name as string]}
          </span>
          {t(`phase.${name}`)}
        </span>
      ))}
    </p>
  );
}

function PhaseTable({ chart }: { readonly chart: Chart }) {
  const { t, i18n } = useTranslation();
  return (
    <table className="plain">
      <thead>
        <tr>
          <th>{t('columns.replica')}</th>
          <th>{t('timeline.phase')}</th>
          <th>{t('timeline.from')}</th>
          <th>{t('columns.duration')}</th>
          <th>{t('columns.message')}</th>
        </tr>
      </thead>
      <tbody>
        {chart.rows.flatMap((row) =>
          row.bars.map((bar) => (
            <tr key={`${row.replica}${bar.name}${bar.start}`}>
              <td>{row.replica}</td>
              <td>{t(`phase.${bar.name}`)}</td>
              <td>{clock(bar.start, i18n.language)}</td>
              <td>{duration(bar.end - bar.start)}</td>
              <td>{bar.text}</td>
            </tr>
          )),
        )}
      </tbody>
    </table>
  );
}

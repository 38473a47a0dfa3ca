import 'uplot/dist/uPlot.min.css';
import { useComputedColorScheme } from '@mantine/core';
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import { clockOfLine } from '../format/time';
import { aligned, type Chart, rangeOf, shown, ticksOf, timesOf } from './charts';
import { lonely } from './gaps';

const HEIGHT = 170;
/** All charts of the page show the same time under the pointer. */
const CURSOR = uPlot.sync('metrics');

interface Props {
  readonly chart: Chart;
  /** The replicas of the job, in whose order colours are given: the same as in the logs. */
  readonly colorOf: (replica: string) => number;
  readonly onTime: (milliseconds: number) => void;
  readonly height?: number;
}

function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** As everywhere on the page: 24 hours, in the time zone of the browser. */
function label(seconds: number, step: number): string {
  const time = clockOfLine(new Date(seconds * 1000).toISOString());
  return step >= 60 ? time.slice(0, 5) : step >= 1 ? time.slice(0, 8) : time;
}

function dataOf(chart: Chart): uPlot.AlignedData {
  return aligned(chart.lines, chart.unit);
}

function options({ chart, colorOf, onTime, height = HEIGHT }: Props, width: number): uPlot.Options {
  const axis = { stroke: color('--quiet'), grid: { stroke: color('--line') }, ticks: { stroke: color('--line') } };
  return {
    width,
    height,
    // Room for the half of the last time that is right of its tick.
    padding: [8, 30, 0, 0],
    legend: { show: false },
    cursor: { sync: { key: CURSOR.key }, drag: { x: false, y: false } },
    axes: [
      { ...axis, space: 76, values: (_, times, __, ___, step) => times.map((time) => label(time, step)) },
      { ...axis, size: 64, ...ticksOf(chart.unit), values: (_, ticks) => ticks.map((tick) => shown(tick, chart.unit)) },
    ],
    scales: {
      // For a single time the library would ask for the range of a day.
      x: { range: (plot) => timesOf(plot.data[0].at(0) ?? 0, plot.data[0].at(-1) ?? 0) },
      y: { range: (_, low, high) => rangeOf(chart.unit, low, high) },
    },
    series: [
      {},
      ...chart.lines.map((line, index) => ({
        label: line.replica,
        stroke: color(`--rank-${colorOf(line.replica)}`),
        width: 1.5,
        // Beyond eight replicas colours repeat; dashes tell them apart.
        ...(index >= 8 ? { dash: [6, 3] } : {}),
        // A value between two pauses has no line.
        points: { show: false, filter: (plot: uPlot, series: number) => lonely([...(plot.data[series] ?? [])]) },
      })),
    ],
    hooks: {
      ready: [
        (plot) =>
          plot.over.addEventListener('click', () => {
            const at = plot.cursor.left;
            if (at !== undefined && at >= 0) onTime(plot.posToVal(at, 'x') * 1000);
          }),
      ],
    },
  };
}

/** The picture of a chart. Its numbers are in the table beside it, for those who do not see it. */
export function LineChart(props: Props) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const scheme = useComputedColorScheme('light');
  const shape = props.chart.lines.map((line) => line.replica).join();

  // biome-ignore lint/correctness/useExhaustiveDependencies: other lines or colours need another chart.
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const made = new uPlot(options(latest.current, element.clientWidth), dataOf(latest.current.chart), element);
    plot.current = made;
    const observer = new ResizeObserver(() =>
      made.setSize({ width: element.clientWidth, height: latest.current.height ?? HEIGHT }),
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [shape, scheme, props.chart.unit]);

  useEffect(() => plot.current?.setData(dataOf(props.chart)), [props.chart]);
  return <div ref={host} className="chart" style={{ minHeight: props.height ?? HEIGHT }} aria-hidden="true" />;
}

import { Checkbox } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { Link, useNavigate } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { JobSummary } from '../api/contract.gen';
import { jobId } from '../api/patches';
import { ChevronIcon, UpIcon } from '../icons';
import { JobCell } from './JobCell';
import type { ChangeSearch } from './JobsPage';
import { type Column, columnsOf, type JobSearch, nextSort, type SortKey, sortOf } from './jobFilters';

interface Props {
  readonly jobs: readonly JobSummary[];
  readonly search: JobSearch;
  readonly change: ChangeSearch;
  readonly marked: ReadonlySet<string>;
  readonly setMarked: (marked: ReadonlySet<string>) => void;
}

const ROW = 50;
const SORT: Partial<Record<Column, SortKey>> = {
  name: 'name',
  status: 'status',
  kind: 'kind',
  age: 'created',
  duration: 'duration',
  replicas: 'replicas',
};
const WIDTHS: Record<Column, string> = {
  name: 'minmax(200px, 2.2fr)',
  status: 'minmax(220px, 3fr)',
  kind: '110px',
  progress: '150px',
  replicas: '92px',
  devices: '130px',
  resources: '150px',
  age: '84px',
  duration: '92px',
  queue: '120px',
  priority: '110px',
  owner: '120px',
};

/** Only the rows in view are in the document: thousands of jobs scroll like ten. */
export function JobTable({ jobs, search, change, marked, setMarked }: Props) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const scroller = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState(-1);
  const columns = columnsOf(search);
  const rows = useVirtualizer({
    count: jobs.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 12,
    getItemKey: (index) => (jobs[index] ? jobId(jobs[index]) : index),
  });
  const mark = (id: string) => {
    const after = new Set(marked);
    if (!after.delete(id)) after.add(id);
    setMarked(after);
  };
  const move = (step: number) => {
    const next = Math.max(0, Math.min(jobs.length - 1, at + step));
    setAt(next);
    rows.scrollToIndex(next);
  };
  const current = jobs[at];
  useHotkeys([
    ['j', () => move(1)],
    ['k', () => move(-1)],
    ['x', () => current && mark(jobId(current))],
    ['Enter', () => current && void navigate({ to: '/jobs/$namespace/$kind/$name', params: address(current) })],
  ]);
  const all = jobs.length > 0 && jobs.every((job) => marked.has(jobId(job)));
  const grid = { gridTemplateColumns: `34px ${columns.map((column) => WIDTHS[column]).join(' ')}` };
  return (
    <div
      className="table-scroller"
      ref={scroller}
      role="grid"
      aria-label={t('jobs.title')}
      aria-rowcount={jobs.length + 1}
    >
      <div className="table-head" role="row" aria-rowindex={1} style={grid}>
        <span role="columnheader">
          <Checkbox
            size="xs"
            aria-label={t('jobs.selectAll')}
            checked={all}
            indeterminate={!all && marked.size > 0}
            onChange={() => setMarked(all ? new Set() : new Set(jobs.map(jobId)))}
          />
        </span>
        {columns.map((column) => (
          <Heading key={column} column={column} search={search} change={change} />
        ))}
      </div>
      <div role="rowgroup" className="table-body" style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map((item) => {
          const job = jobs[item.index];
          if (!job) return null;
          const id = jobId(job);
          return (
            <div
              key={id}
              role="row"
              aria-rowindex={item.index + 2}
              aria-selected={marked.has(id)}
              className={`table-row${item.index === at ? ' current' : ''}`}
              style={{ ...grid, height: ROW, transform: `translateY(${item.start}px)` }}
            >
              <span role="gridcell">
                {/* A native control: rows are made anew while the list scrolls. */}
                <input
                  type="checkbox"
                  className="row-check"
                  aria-label={t('jobs.select', { name: job.name })}
                  checked={marked.has(id)}
                  onChange={() => mark(id)}
                />
              </span>
              {columns.map((column) => (
                <span role="gridcell" key={column} className={`cell-${column}`}>
                  {column === 'name' ? <Name job={job} /> : <JobCell job={job} column={column} />}
                </span>
              ))}
            </div>
          );
        })}
      </div>
    </div>
  );
}

function address(job: JobSummary): { namespace: string; kind: string; name: string } {
  return { namespace: job.namespace, kind: job.kind, name: job.name };
}

function Name({ job }: { readonly job: JobSummary }) {
  return (
    <>
      <Link to="/jobs/$namespace/$kind/$name" params={address(job)} className="job-link" title={job.name}>
        {job.name}
      </Link>
      <span className="second" title={job.description}>
        {job.namespace}
        {job.description !== '' && ` · ${job.description}`}
      </span>
    </>
  );
}

interface HeadingProps {
  readonly column: Column;
  readonly search: JobSearch;
  readonly change: ChangeSearch;
}

function Heading({ column, search, change }: HeadingProps) {
  const { t } = useTranslation();
  const key = SORT[column];
  const { key: current, descending } = sortOf(search);
  if (key === undefined) return <span role="columnheader">{t(`columns.${column}`)}</span>;
  const active = current === key;
  return (
    <span role="columnheader" aria-sort={active ? (descending ? 'descending' : 'ascending') : 'none'}>
      <button type="button" className="sort" onClick={() => change({ sort: nextSort(search, key) })}>
        {t(`columns.${column}`)}
        {active && (descending ? <ChevronIcon size={12} /> : <UpIcon size={12} />)}
      </button>
    </span>
  );
}

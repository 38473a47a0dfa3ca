import { Checkbox } from '@mantine/core';
import {
  type CSSProperties,
  type Dispatch,
  memo,
  type SetStateAction,
  useCallback,
  useMemo,
  useRef,
  useState,
} from 'react';
import { useTranslation } from 'react-i18next';
import type { JobSummary } from '../api/contract.gen';
import { jobId } from '../api/patches';
import { ChevronIcon, UpIcon } from '../icons';
import { ConfirmAction, type ListAction } from './ConfirmAction';
import { JobRows } from './JobRows';
import type { ChangeSearch } from './JobsPage';
import { type Column, columnsOf, type JobSearch, nextSort, type SortKey, sortOf } from './jobFilters';
import { isRecorded } from './recorded';
import { useListKeys } from './useListKeys';

type Marked = ReadonlySet<string>;

interface Props {
  readonly jobs: readonly JobSummary[];
  readonly search: JobSearch;
  readonly change: ChangeSearch;
  readonly marked: Marked;
  readonly setMarked: Dispatch<SetStateAction<Marked>>;
}

const SORT: Partial<Record<Column, SortKey>> = {
  name: 'name',
  status: 'status',
  kind: 'kind',
  age: 'created',
  duration: 'duration',
  replicas: 'replicas',
};
const WIDTHS: Record<Column, string> = {
  name: 'minmax(170px, 2.2fr)',
  status: 'minmax(180px, 3fr)',
  kind: '96px',
  progress: '150px',
  replicas: '64px',
  devices: '104px',
  resources: '150px',
  age: '64px',
  duration: '72px',
  queue: '120px',
  priority: '110px',
  owner: '120px',
};

function toggled(marked: Marked, id: string): Marked {
  const after = new Set(marked);
  if (!after.delete(id)) after.add(id);
  return after;
}

/** Memorized: a message that changes no job of the list renders no row. */
export const JobTable = memo(function JobTable({ jobs, search, change, marked, setMarked }: Props) {
  const { t } = useTranslation();
  const scroller = useRef<HTMLDivElement>(null);
  const [menu, setMenu] = useState<string | null>(null);
  const [asked, setAsked] = useState<{ action: ListAction; job: JobSummary } | null>(null);
  const mark = useCallback((id: string) => setMarked((before) => toggled(before, id)), [setMarked]);
  const current = useListKeys(jobs, scroller, mark);
  const columns = useMemo(() => columnsOf(search), [search]);
  const widths = { '--columns': `34px ${columns.map((column) => WIDTHS[column]).join(' ')} 34px` } as CSSProperties;
  return (
    <div
      className="table-scroller job-table"
      ref={scroller}
      role="grid"
      aria-label={t('jobs.title')}
      aria-rowcount={jobs.length + 1}
      tabIndex={-1}
      style={widths}
    >
      <div className="table-head" role="row" aria-rowindex={1}>
        <span role="columnheader">
          <MarkAll jobs={jobs} marked={marked} setMarked={setMarked} />
        </span>
        {columns.map((column) => (
          <Heading key={column} column={column} search={search} change={change} />
        ))}
        <span role="columnheader">
          <span className="hidden-text">{t('jobs.actions')}</span>
        </span>
      </div>
      <JobRows
        {...{ jobs, columns, scroller, current, marked, mark, menu, setMenu }}
        ask={(action, job) => setAsked({ action, job })}
      />
      {asked !== null && <ConfirmAction action={asked.action} jobs={[asked.job]} onClose={() => setAsked(null)} />}
    </div>
  );
});

function MarkAll({ jobs, marked, setMarked }: Pick<Props, 'jobs' | 'marked' | 'setMarked'>) {
  const { t } = useTranslation();
  const markable = (job: JobSummary) => !isRecorded(job.name);
  const all = marked.size > 0 && jobs.every((job) => !markable(job) || marked.has(jobId(job)));
  return (
    <Checkbox
      size="xs"
      aria-label={t('jobs.selectAll')}
      checked={all}
      indeterminate={!all && marked.size > 0}
      onChange={() => setMarked(new Set(all ? [] : jobs.filter(markable).map(jobId)))}
    />
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

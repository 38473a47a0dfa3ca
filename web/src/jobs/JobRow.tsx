import type { TFunction } from 'i18next';
import { type MouseEvent, memo } from 'react';
import type { JobSummary } from '../api/contract.gen';
import { jobPath } from './actions';
import type { ListAction } from './ConfirmAction';
import { JobCell } from './JobCell';
import type { Column } from './jobFilters';
import { RowMenu } from './RowMenu';
import { isRecorded, plainName } from './recorded';

export interface RowActions {
  mark: (id: string) => void;
  setMenu: (id: string | null) => void;
  ask: (action: ListAction, job: JobSummary) => void;
  follow: (event: MouseEvent<HTMLAnchorElement>) => void;
}

interface Props {
  readonly id: string;
  readonly job: JobSummary;
  readonly index: number;
  readonly columns: readonly Column[];
  readonly current: boolean;
  readonly marked: boolean;
  readonly menu: boolean;
  readonly actions: RowActions;
  readonly t: TFunction;
  readonly language: string;
  readonly base: string;
}

// Native controls, and no hooks in the cells: while the list scrolls, each frame renders every row that is in view.
export const JobRow = memo(function JobRow({
  id,
  job,
  index,
  columns,
  current,
  marked,
  menu,
  actions,
  ...page
}: Props) {
  const { t } = page;
  const recorded = isRecorded(job.name);
  return (
    <div
      role="row"
      data-job={id}
      aria-rowindex={index + 2}
      aria-selected={marked}
      className={current ? 'table-row current' : 'table-row'}
    >
      <span role="gridcell">
        <input
          type="checkbox"
          className="row-check"
          aria-label={t('jobs.select', { name: plainName(job.name) })}
          disabled={recorded}
          checked={marked}
          onChange={() => actions.mark(id)}
        />
      </span>
      {columns.map((column) => (
        <span role="gridcell" key={column} className={`cell-${column}`}>
          {column === 'name' ? (
            <Name job={job} t={t} href={page.base + jobPath(job)} follow={actions.follow} />
          ) : (
            <JobCell job={job} column={column} t={t} language={page.language} />
          )}
        </span>
      ))}
      <span role="gridcell">{!recorded && <RowMenu job={job} id={id} opened={menu} actions={actions} t={t} />}</span>
    </div>
  );
});

interface NameProps {
  readonly job: JobSummary;
  readonly t: TFunction;
  readonly href: string;
  readonly follow: RowActions['follow'];
}

function Name({ job, t, href, follow }: NameProps) {
  const name = plainName(job.name);
  return (
    <>
      <a href={href} className="job-link" title={name} onClick={follow}>
        {name}
      </a>
      <span className="second" title={job.description}>
        {isRecorded(job.name) && <strong>{`${t('jobs.deleted')} · `}</strong>}
        {job.description === '' ? job.namespace : `${job.namespace} · ${job.description}`}
      </span>
    </>
  );
}

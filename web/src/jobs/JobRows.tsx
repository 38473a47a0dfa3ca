import { useRouter } from '@tanstack/react-router';
import { type MouseEvent, type RefObject, useCallback, useEffect, useLayoutEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import type { JobSummary } from '../api/contract.gen';
import { jobId } from '../api/patches';
import type { ListAction } from './ConfirmAction';
import { JobRow, type RowActions } from './JobRow';
import type { Column } from './jobFilters';
import { assignSlots } from './rowSlots';
import { useRowWindow } from './useRowWindow';

export const ROW = 50;

interface Props {
  readonly jobs: readonly JobSummary[];
  readonly columns: readonly Column[];
  readonly scroller: RefObject<HTMLDivElement | null>;
  readonly current: number;
  readonly marked: ReadonlySet<string>;
  readonly mark: (id: string) => void;
  /** The job whose menu is open. */
  readonly menu: string | null;
  readonly setMenu: (id: string | null) => void;
  readonly ask: (action: ListAction, job: JobSummary) => void;
}

/** Only the rows in view are in the document: thousands of jobs scroll like ten. */
export function JobRows({ jobs, columns, scroller, current, marked, mark, menu, setMenu, ask }: Props) {
  const { t, i18n } = useTranslation();
  const router = useRouter();
  const { first, end } = useRowWindow(scroller, ROW, jobs.length);
  const shown = jobs.slice(first, end);
  const ids = shown.map(jobId);
  const slots = useRef<ReadonlyMap<string, number>>(new Map());
  slots.current = assignSlots(slots.current, ids);
  const follow = useCallback(
    (event: MouseEvent<HTMLAnchorElement>) => {
      if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      router.history.push(event.currentTarget.pathname);
    },
    [router],
  );
  const actions = useStable<RowActions>({ mark, setMenu, ask, follow });
  useFocusOfRows(scroller, ids);
  const gone = menu !== null && !ids.includes(menu);
  useLayoutEffect(() => {
    if (gone) setMenu(null);
  }, [gone, setMenu]);
  return (
    <div role="rowgroup" className="table-body" style={{ height: jobs.length * ROW }}>
      <div className="job-rows" role="presentation" style={{ transform: `translateY(${first * ROW}px)` }}>
        {shown.map((job, at) => {
          const id = ids[at] ?? '';
          return (
            <JobRow
              key={slots.current.get(id)}
              id={id}
              job={job}
              index={first + at}
              columns={columns}
              current={first + at === current}
              marked={marked.has(id)}
              menu={id === menu}
              actions={actions}
              t={t}
              language={i18n.language}
              base={router.basepath}
            />
          );
        })}
      </div>
    </div>
  );
}

/** The same object at each call, so that rows are not rendered again because of it. */
function useStable<T extends object>(value: T): T {
  const kept = useRef(value);
  Object.assign(kept.current, value);
  return kept.current;
}

/** An element that shows another job must not keep the focus: a key would act on a job that the user did not choose. */
function useFocusOfRows(scroller: RefObject<HTMLDivElement | null>, ids: readonly string[]): void {
  const focused = useRef<string | null>(null);
  // Not a layout effect: the element of the parent is not known yet when the rows are laid out first.
  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const note = (event: FocusEvent) => {
      focused.current = event.target instanceof Element ? rowOf(event.target) : null;
    };
    element.addEventListener('focusin', note);
    return () => element.removeEventListener('focusin', note);
  }, [scroller]);
  useLayoutEffect(() => {
    const active = document.activeElement;
    if (focused.current === null || !active || !scroller.current?.contains(active)) return;
    if (!ids.includes(focused.current)) scroller.current.focus({ preventScroll: true });
  }, [scroller, ids]);
}

function rowOf(element: Element): string | null {
  return element.closest('[role=row]')?.getAttribute('data-job') ?? null;
}

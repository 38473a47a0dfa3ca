import { useNavigate } from '@tanstack/react-router';
import { type RefObject, useMemo, useState } from 'react';
import type { JobSummary } from '../api/contract.gen';
import { jobId } from '../api/patches';
import { useShortcuts } from '../shell/shortcuts';
import { ROW } from './JobRows';
import { type Cursor, moved, rowOf } from './listCursor';
import { isRecorded } from './recorded';

const HEAD = 34;

/** Moves through the list, marks and opens with keys. The row of the job that they act on; -1 if there is none. */
export function useListKeys(
  jobs: readonly JobSummary[],
  scroller: RefObject<HTMLElement | null>,
  mark: (id: string) => void,
): number {
  const navigate = useNavigate();
  const [cursor, setCursor] = useState<Cursor | null>(null);
  const at = useMemo(() => rowOf(jobs, cursor), [jobs, cursor]);
  const current = jobs[at];
  const move = (step: 1 | -1) => {
    const next = moved(jobs, cursor, step);
    setCursor(next);
    if (scroller.current && next) reveal(scroller.current, next.at * ROW);
  };
  useShortcuts([
    ['j', () => move(1)],
    ['k', () => move(-1)],
    ['x', () => current && !isRecorded(current.name) && mark(jobId(current))],
  ]);
  const open = ({ namespace, kind, name }: JobSummary) =>
    void navigate({ to: '/jobs/$namespace/$kind/$name', params: { namespace, kind, name } });
  // Enter on a button or a link is for that button or link.
  useShortcuts([['Enter', () => current && open(current)]], ['INPUT', 'TEXTAREA', 'SELECT', 'BUTTON', 'A']);
  return at;
}

function reveal(scroller: HTMLElement, top: number): void {
  const below = top + ROW + HEAD - scroller.clientHeight;
  if (scroller.scrollTop > top) scroller.scrollTop = top;
  else if (scroller.scrollTop < below) scroller.scrollTop = below;
}

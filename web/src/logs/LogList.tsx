import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { LogLine } from '../api/contract.gen';
import { CurrentLine } from './CurrentLine';
import { followAfter } from './followScroll';
import { LogRow, ROW } from './LogRow';
import { ToEnd } from './ToEnd';
import { useLineKeys } from './useLineKeys';

const OVERSCAN = 20;

export interface ListProps {
  readonly lines: readonly LogLine[];
  readonly dropped: number;
  readonly follow: boolean;
  readonly setFollow: (follow: boolean) => void;
  readonly colorOf: (replica: string) => number;
  readonly chosen: readonly [number, number] | null;
  readonly onChoose: (index: number, extend: boolean) => void;
  /** With the keyboard. from: the line before it, which a selection continues or begins with. */
  readonly onKeyChoose: (index: number, from?: number) => void;
  readonly matcher: RegExp | null;
  /** The row to show in the middle; a new object scrolls again. */
  readonly target: { readonly index: number } | null;
}

// All rows have one height, so the rows in view follow from the position by a division: nothing is kept for rows that are not
// in view, whatever their number.
export function LogList(props: ListProps) {
  const { lines, follow, setFollow, target } = props;
  const { t } = useTranslation();
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  useHeight(scroller, (height) => setView((before) => ({ ...before, height })));
  const height = lines.length * ROW;

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new height is the reason to scroll.
  useLayoutEffect(() => {
    if (follow && scroller.current) scroller.current.scrollTop = scroller.current.scrollHeight;
  }, [follow, height]);

  useLayoutEffect(() => {
    if (target && scroller.current) scroller.current.scrollTop = target.index * ROW - scroller.current.clientHeight / 2;
  }, [target]);

  useKeptPosition(scroller, props.dropped, follow);

  const scrolled = () => {
    const element = scroller.current;
    if (!element) return;
    const next = followAfter(view.top, element);
    setView({ top: element.scrollTop, height: element.clientHeight });
    if (next !== null) setFollow(next);
  };

  const keys = useLineKeys({
    count: lines.length,
    dropped: props.dropped,
    start: () => (follow ? lines.length - 1 : Math.min(lines.length - 1, Math.ceil(view.top / ROW))),
    reveal: (index) => reveal(scroller.current, index),
    onChoose: props.onKeyChoose,
    onStop: () => setFollow(false),
  });

  const first = Math.max(0, Math.floor(view.top / ROW) - OVERSCAN);
  const last = Math.min(lines.length, Math.ceil((view.top + view.height) / ROW) + OVERSCAN);
  return (
    <div className="log-box">
      <div
        className="log-scroller"
        ref={scroller}
        onScroll={scrolled}
        onKeyDown={keys.onKeyDown}
        role="log"
        aria-live="off"
        aria-label={t('tabs.logs')}
        tabIndex={0}
      >
        <div className="log-lines" style={{ height }}>
          {lines.slice(first, last).map((line, at) => (
            <LogRow
              key={`${line.source}:${line.sequence}`}
              line={line}
              index={first + at}
              color={props.colorOf(line.replica)}
              chosen={isChosen(props.chosen, first + at)}
              current={first + at === keys.at}
              matcher={props.matcher}
              onChoose={props.onChoose}
            />
          ))}
        </div>
      </div>
      <CurrentLine line={lines[keys.at]} />
      {!follow && <ToEnd onClick={() => setFollow(true)} />}
    </div>
  );
}

function reveal(element: HTMLElement | null, index: number): void {
  if (!element) return;
  const below = (index + 1) * ROW - element.clientHeight;
  if (element.scrollTop > index * ROW) element.scrollTop = index * ROW;
  else if (element.scrollTop < below) element.scrollTop = below;
}

export function isChosen(chosen: readonly [number, number] | null, index: number): boolean {
  return chosen !== null && index >= Math.min(...chosen) && index <= Math.max(...chosen);
}

function useHeight(element: RefObject<HTMLElement | null>, changed: (height: number) => void): void {
  const latest = useRef(changed);
  latest.current = changed;
  useEffect(() => {
    if (!element.current) return;
    const observer = new ResizeObserver(([entry]) => entry && latest.current(entry.contentRect.height));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
}

/** Lines that are forgotten at the beginning must not move those that are read. */
function useKeptPosition(element: RefObject<HTMLElement | null>, dropped: number, follow: boolean): void {
  const before = useRef(dropped);
  useLayoutEffect(() => {
    if (!follow && element.current && dropped > before.current)
      element.current.scrollTop -= (dropped - before.current) * ROW;
    before.current = dropped;
  }, [element, dropped, follow]);
}

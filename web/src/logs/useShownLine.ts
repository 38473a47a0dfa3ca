import { useEffect } from 'react';
import { type LogSearch, type lineOfFragment, timeOfLine } from './logSearch';
import type { LogWindow } from './logWindow';
import type { Logs } from './useLogs';

type LinkedLine = ReturnType<typeof lineOfFragment>;

/** Whether the window begins after a line: those of a log come in their order. */
export function beginsAfter(window: LogWindow, line: NonNullable<LinkedLine>): boolean {
  return window.lines.some((each) => each.source === line.source && each.sequence > line.sequence);
}

/** Shows the line of the address. One that is older than the window has a window around it. */
export function useLinkedLine(
  feed: Logs,
  linked: { current: LinkedLine },
  search: LogSearch,
  older: (time: string) => void,
  found: (index: number) => void,
): void {
  const count = feed.window.lines.length;
  // biome-ignore lint/correctness/useExhaustiveDependencies: new lines are the reason to look again.
  useEffect(() => {
    if (linked.current === null || !feed.loaded) return;
    const index = feed.window.find(linked.current.source, linked.current.sequence);
    const time = timeOfLine(linked.current.sequence);
    if (index >= 0) {
      linked.current = null;
      found(index);
    } else if (search.t !== time && (feed.end !== null || beginsAfter(feed.window, linked.current))) older(time);
  }, [count, feed, feed.end]);
}

/** Shows the first line of a moment, once for each moment. */
export function useLineOfMoment(
  feed: Logs,
  moment: string | undefined,
  shown: { current: string | undefined },
  found: (index: number) => void,
): void {
  const count = feed.window.lines.length;
  // biome-ignore lint/correctness/useExhaustiveDependencies: new lines are the reason to look again.
  useEffect(() => {
    if (moment === undefined || shown.current === moment || !feed.loaded) return;
    const time = Date.parse(moment);
    const index = feed.window.lines.findIndex((line) => line.time !== '' && Date.parse(line.time) >= time);
    if (index < 0) return;
    shown.current = moment;
    found(index);
  }, [count, feed, moment]);
}

import { type KeyboardEvent, useState } from 'react';

interface List {
  readonly count: number;
  /** Lines that were forgotten at the beginning: a line keeps its place without them. */
  readonly dropped: number;
  /** The row where the keys begin. */
  readonly start: () => number;
  readonly reveal: (index: number) => void;
  readonly onChoose: (index: number, from?: number) => void;
  /** A line is read: the list must not move on. */
  readonly onStop: () => void;
}

interface LineKeys {
  /** The row that the keys act on; -1 before the first key. */
  readonly at: number;
  readonly onKeyDown: (event: KeyboardEvent) => void;
}

/** Arrow keys move from line to line, with Shift they select, and Enter makes the link to the line. */
export function useLineKeys({ count, dropped, start, reveal, onChoose, onStop }: List): LineKeys {
  const [place, setPlace] = useState<number | null>(null);
  const at = place === null || place < dropped ? -1 : Math.min(count - 1, place - dropped);
  const move = (step: 1 | -1, extend: boolean) => {
    const next = at < 0 ? start() : Math.max(0, Math.min(count - 1, at + step));
    setPlace(next + dropped);
    onStop();
    reveal(next);
    if (extend) onChoose(next, at < 0 ? next : at);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey || count === 0) return;
    if (event.key === 'ArrowDown') move(1, event.shiftKey);
    else if (event.key === 'ArrowUp') move(-1, event.shiftKey);
    else if (event.key === 'Enter' && at >= 0) onChoose(at);
    else return;
    event.preventDefault();
  };
  return { at, onKeyDown };
}

import { type RefObject, useEffect, useState } from 'react';
import { flushSync } from 'react-dom';
import { type RowWindow, rowsInView } from './rowSlots';

const SPARE = 4;
const FIRST_HEIGHT = 900;

/** The rows in view. A page that is scrolled within a row renders nothing; else the rows are there in the same frame. */
export function useRowWindow(scroller: RefObject<HTMLElement | null>, row: number, count: number): RowWindow {
  const [view, setView] = useState({ top: 0, height: FIRST_HEIGHT });
  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const look = () => {
      const seen = { top: Math.floor(element.scrollTop / row) * row, height: element.clientHeight };
      setView((before) => (before.top === seen.top && before.height === seen.height ? before : seen));
    };
    const scrolled = () => flushSync(look);
    const observer = new ResizeObserver(look);
    element.addEventListener('scroll', scrolled, { passive: true });
    observer.observe(element);
    return () => {
      element.removeEventListener('scroll', scrolled);
      observer.disconnect();
    };
  }, [scroller, row]);
  return rowsInView(view.top, view.height, row, count, SPARE);
}

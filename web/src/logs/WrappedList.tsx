import { useVirtualizer } from '@tanstack/react-virtual';
import { useLayoutEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { CurrentLine } from './CurrentLine';
import { followAfter } from './followScroll';
import { isChosen, type ListProps } from './LogList';
import { LogRow, ROW } from './LogRow';
import { ToEnd } from './ToEnd';
import { useLineKeys } from './useLineKeys';

/** Lines that are as high as their text needs. Only those in view are measured. */
export function WrappedList(props: ListProps) {
  const { lines, follow, setFollow, colorOf, chosen, onChoose, matcher, target } = props;
  const { t } = useTranslation();
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 20,
  });

  useLayoutEffect(() => {
    if (follow && lines.length > 0) rows.scrollToIndex(lines.length - 1, { align: 'end' });
  }, [follow, lines.length, rows]);

  useLayoutEffect(() => {
    if (target) rows.scrollToIndex(target.index, { align: 'center' });
  }, [target, rows]);

  const keys = useLineKeys({
    count: lines.length,
    dropped: props.dropped,
    start: () => (follow ? lines.length - 1 : (rows.range?.startIndex ?? 0)),
    reveal: (index) => rows.scrollToIndex(index, { align: 'auto' }),
    onChoose: props.onKeyChoose,
    onStop: () => setFollow(false),
  });

  // Rows become higher when they are measured: the end moves away although nobody scrolls, so the way up counts.
  const top = useRef(0);
  const scrolled = () => {
    const element = scroller.current;
    if (!element) return;
    const next = followAfter(top.current, element);
    top.current = element.scrollTop;
    if (next !== null) setFollow(next);
  };

  return (
    <div className="log-box">
      <div
        className="log-scroller wrapped"
        ref={scroller}
        onScroll={scrolled}
        onKeyDown={keys.onKeyDown}
        role="log"
        aria-live="off"
        aria-label={t('tabs.logs')}
        tabIndex={0}
      >
        <div className="log-lines" style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map((item) => {
            const line = lines[item.index];
            return (
              line && (
                <div
                  key={item.key}
                  ref={rows.measureElement}
                  data-index={item.index}
                  className="log-wrapped"
                  style={{ transform: `translateY(${item.start}px)` }}
                >
                  <LogRow
                    line={line}
                    index={item.index}
                    color={colorOf(line.replica)}
                    chosen={isChosen(chosen, item.index)}
                    current={item.index === keys.at}
                    matcher={matcher}
                    onChoose={onChoose}
                    placed={false}
                  />
                </div>
              )
            );
          })}
        </div>
      </div>
      <CurrentLine line={lines[keys.at]} />
      {!follow && <ToEnd onClick={() => setFollow(true)} />}
    </div>
  );
}

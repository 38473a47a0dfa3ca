import { useVirtualizer } from '@tanstack/react-virtual';
import { useLayoutEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { isChosen, type ListProps } from './LogList';
import { LogRow, ROW } from './LogRow';

/** Lines that are as high as their text needs. Only those in view are measured. */
export function WrappedList({ lines, follow, setFollow, colorOf, chosen, onChoose, matcher, target }: ListProps) {
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

  return (
    <div className="log-box">
      <div
        className="log-scroller wrapped"
        ref={scroller}
        onWheel={(event) => event.deltaY < 0 && setFollow(false)}
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
    </div>
  );
}

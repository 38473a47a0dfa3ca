import { ActionIcon } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useContext } from 'react';
import { useTranslation } from 'react-i18next';
import { clock } from '../format/time';
import { NextIcon, PreviousIcon } from '../icons';
import { RecordContext, useCurrentJob } from './jobContext';
import { neighbor, type RecordedTime, textOf } from './recordedTime';

interface Props {
  readonly time: RecordedTime;
  /** Null: the end. */
  readonly moment: number | null;
  /** The status of the job then, in the language of the page. */
  readonly status: string;
}

/** One moment for all tabs of a recorded job. It is in the address: a moment can be linked. */
export function TimeBar() {
  const { t } = useTranslation();
  const record = useContext(RecordContext);
  const { summary } = useCurrentJob();
  if (record === null) return null;
  return <Bar time={record.time} moment={record.at} status={t(`status.${summary.status}`)} />;
}

function Bar({ time, moment, status }: Props) {
  const { t, i18n } = useTranslation();
  const navigate = useNavigate();
  const shown = moment ?? time.end;
  const go = (to: number) => {
    const text = textOf(to, time);
    void navigate({
      to: '.',
      search: ({ t: _, ...before }) => (text === undefined ? before : { ...before, t: text }),
      replace: true,
      resetScroll: false,
    });
  };
  const step = (direction: 1 | -1) => {
    const found = neighbor(time, shown, direction);
    const Icon = direction === 1 ? NextIcon : PreviousIcon;
    return (
      <ActionIcon
        variant="default"
        aria-label={t(direction === 1 ? 'timeBar.next' : 'timeBar.previous')}
        disabled={found === undefined}
        onClick={() => found !== undefined && go(found)}
      >
        <Icon size={14} />
      </ActionIcon>
    );
  };
  const at = clock(shown, i18n.language);
  return (
    <section className="time-bar" aria-label={t('timeBar.title')}>
      {step(-1)}
      {step(1)}
      <span className="quiet">{clock(time.start, i18n.language)}</span>
      <input
        type="range"
        aria-label={t('timeBar.moment')}
        aria-valuetext={`${at} · ${status}`}
        min={0}
        max={Math.round((time.end - time.start) / 1000)}
        value={Math.round((shown - time.start) / 1000)}
        onChange={(event) => go(time.start + event.currentTarget.valueAsNumber * 1000)}
      />
      <span className="quiet">{clock(time.end, i18n.language)}</span>
      <output>{moment === null ? t('timeBar.end') : t('timeBar.at', { time: at })}</output>
    </section>
  );
}

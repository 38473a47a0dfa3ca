import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { Fits } from '../api/contract.gen';
import { asProblem, request } from '../api/http';
import { FitText } from '../fit/FitText';
import { Sentence } from '../i18n/Sentence';
import { say } from '../i18n/say';
import { useSettled } from './useSettled';

const INTERVAL = 15_000;

interface Props {
  readonly text: string;
  readonly namespace: string;
  /** The API server accepts the text. */
  readonly enabled: boolean;
}

/** Whether the job would be scheduled now. Pods come and go, so the answer is asked for again. */
export function FitLine({ text, namespace, enabled }: Props) {
  const { t } = useTranslation();
  const settled = useSettled(text);
  const { data, error } = useQuery({
    queryKey: ['fit', settled, namespace],
    queryFn: ({ signal }) =>
      request<Fits>('POST', `fit?${new URLSearchParams({ namespace })}`, {
        body: settled,
        type: 'application/yaml',
        signal,
      }),
    enabled: enabled && settled === text,
    refetchInterval: INTERVAL,
    placeholderData: keepPreviousData,
    retry: false,
  });
  if (!enabled) return <p className="quiet">{t('fit.afterCheck')}</p>;
  if (error) return <p className="quiet">{t('fit.unknown', { reason: say(asProblem(error).message) })}</p>;
  if (!data) return <p className="quiet">{t('fit.asking')}</p>;
  return (
    <div role="status">
      {data.jobs.map((fit) => (
        <FitText key={`${fit.kind}/${fit.name}`} fit={fit} />
      ))}
      {data.estimate && <p className="quiet">{t('fit.estimate')}</p>}
      {data.notes.map((note) => (
        <p key={note} className="quiet">
          <Sentence text={note} />
        </p>
      ))}
    </div>
  );
}

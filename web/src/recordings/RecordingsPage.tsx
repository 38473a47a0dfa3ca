import { Button, Group, Skeleton } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import type { OpenedRecording } from '../api/contract.gen';
import { asProblem } from '../api/http';
import { dateAndTime } from '../format/time';
import { ProblemState } from '../shell/ProblemState';
import { useTitle } from '../shell/useTitle';
import { OpenRecording } from './OpenRecording';
import { closeRecording, jobParams, RECORDINGS, useRecordings } from './recordings';

export function RecordingsPage() {
  const { t } = useTranslation();
  useTitle(t('recordings.title'));
  const { data, error, refetch } = useRecordings();
  return (
    <div className="page templates">
      <Group justify="space-between">
        <h1 className="page-title">{t('recordings.title')}</h1>
        <OpenRecording />
      </Group>
      <p className="quiet">{t('recordings.how')}</p>
      {error && !data ? (
        <ProblemState problem={asProblem(error)} retry={() => void refetch()} />
      ) : data ? (
        <Opened recordings={data.recordings} />
      ) : (
        <Skeleton height={80} />
      )}
    </div>
  );
}

function Opened({ recordings }: { readonly recordings: readonly OpenedRecording[] }) {
  const { t } = useTranslation();
  return (
    <section className="card" aria-label={t('recordings.opened')}>
      <h2 className="card-title">{t('recordings.opened')}</h2>
      {recordings.length === 0 && <p className="quiet">{t('recordings.none')}</p>}
      <ul className="template-list">
        {recordings.map((recording) => (
          <Row key={recording.id} recording={recording} />
        ))}
      </ul>
    </section>
  );
}

function Row({ recording }: { readonly recording: OpenedRecording }) {
  const { t, i18n } = useTranslation();
  const queries = useQueryClient();
  const close = useMutation({
    mutationFn: () => closeRecording(recording.id),
    onSettled: () => queries.invalidateQueries({ queryKey: RECORDINGS }),
  });
  const time = dateAndTime(recording.exported, i18n.language);
  const size = Math.max(1, Math.round(recording.size / 1024)).toLocaleString(i18n.language);
  return (
    <li>
      <span className="grow">
        <Link to="/jobs/$namespace/$kind/$name" params={jobParams(recording)} className="job-link">
          {recording.name}
        </Link>
        <span className="second">
          {[
            recording.namespace,
            recording.kind,
            t('recordings.exported', { time }),
            t('recordings.size', { size }),
          ].join(' · ')}
        </span>
      </span>
      <Button
        size="compact-xs"
        variant="subtle"
        loading={close.isPending}
        onClick={() => close.mutate()}
        aria-label={t('recordings.closeNamed', { name: recording.name })}
      >
        {t('recordings.close')}
      </Button>
    </li>
  );
}

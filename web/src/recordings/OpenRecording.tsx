import { Button, FileButton } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { asProblem } from '../api/http';
import { say } from '../i18n/say';
import { FolderIcon } from '../icons';
import { jobParams, openRecording, RECORDINGS } from './recordings';

/** Sends a file to the console, which keeps it for this session, and shows the page of its job. */
export function OpenRecording() {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [busy, setBusy] = useState(false);
  const reset = useRef<() => void>(null);
  const open = async (file: File | null) => {
    if (!file) return;
    setBusy(true);
    try {
      const opened = await openRecording(file);
      void queries.invalidateQueries({ queryKey: RECORDINGS });
      void navigate({ to: '/jobs/$namespace/$kind/$name', params: jobParams(opened) });
    } catch (error) {
      const problem = asProblem(error);
      const message = [problem.message, problem.nextStep].filter(Boolean).map(say).join(' ');
      notifications.show({ color: 'red', title: t('recordings.refused', { name: file.name }), message });
    } finally {
      setBusy(false);
      reset.current?.(); // the same file can be chosen again
    }
  };
  return (
    <FileButton onChange={(file) => void open(file)} resetRef={reset}>
      {(props) => (
        <Button {...props} size="xs" variant="default" leftSection={<FolderIcon size={13} />} loading={busy}>
          {t('recordings.open')}
        </Button>
      )}
    </FileButton>
  );
}

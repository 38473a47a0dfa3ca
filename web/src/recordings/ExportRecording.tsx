import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { asProblem, download } from '../api/http';
import { say } from '../i18n/say';
import { DownloadIcon } from '../icons';
import { useJobAddress } from '../job/jobContext';
import { jobPath } from '../jobs/actions';
import { plainName } from '../jobs/recorded';

/** Saves everything of the job as one file, which any console opens. */
export function ExportRecording() {
  const { t } = useTranslation();
  const address = useJobAddress();
  const [busy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    try {
      const name = `${address.namespace}-${plainName(address.name)}.recording.jsonl.gz`;
      await download(`${jobPath(address)}/recording`, name);
    } catch (error) {
      notifications.show({ color: 'red', message: say(asProblem(error).message) });
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button
      size="xs"
      variant="default"
      leftSection={<DownloadIcon size={13} />}
      loading={busy}
      onClick={() => void save()}
    >
      {t('recordings.export')}
    </Button>
  );
}

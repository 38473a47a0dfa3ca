import { Button, Loader, Tooltip } from '@mantine/core';
import { lazy, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { say } from '../i18n/say';
import { Card } from '../job/Card';
import { useCurrentJob } from '../job/jobContext';

const Terminal = lazy(async () => ({ default: (await import('./Terminal')).Terminal }));

interface Props {
  readonly path: string;
  readonly replica: string;
  readonly running: boolean;
}

/** The emulator is only loaded when a terminal is opened. */
export function ReplicaTerminal({ path, replica, running }: Props) {
  const { t } = useTranslation();
  const { terminal } = useCurrentJob();
  const [opened, setOpened] = useState(false);
  const reason = terminal.allowed ? (running ? '' : t('terminal.notRunning')) : say(terminal.reason);
  return (
    <Card title={t('terminal.title')}>
      {opened ? (
        <Suspense fallback={<Loader size="sm" />}>
          <Terminal path={path} label={t('terminal.of', { replica })} />
        </Suspense>
      ) : (
        <Tooltip label={reason} disabled={reason === ''} multiline maw={360}>
          <Button
            size="xs"
            variant="default"
            {...(reason === '' ? {} : { 'data-disabled': true })}
            aria-disabled={reason !== ''}
            onClick={() => reason === '' && setOpened(true)}
          >
            {t('terminal.open')}
          </Button>
        </Tooltip>
      )}
    </Card>
  );
}

import { Button, Group } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { JobSummary } from '../api/contract.gen';
import { RestartingIcon, RunningIcon, SuspendedIcon, TrashIcon } from '../icons';
import { isUseful } from './actions';
import { ConfirmAction, type ListAction } from './ConfirmAction';

const ACTIONS = [
  ['suspend', SuspendedIcon],
  ['resume', RunningIcon],
  ['rerun', RestartingIcon],
  ['delete', TrashIcon],
] as const;

interface Props {
  readonly jobs: readonly JobSummary[];
  readonly clear: () => void;
  readonly unmark: (jobs: readonly JobSummary[]) => void;
}

export function BulkActions({ jobs, clear, unmark }: Props) {
  const { t } = useTranslation();
  const [asked, setAsked] = useState<ListAction | null>(null);
  if (jobs.length === 0) return <span className="quiet">{t('jobs.selectHint')}</span>;
  return (
    <Group gap="xs" role="toolbar" aria-label={t('jobs.bulk')}>
      <strong>{t('jobs.selected', { count: jobs.length })}</strong>
      {ACTIONS.map(([action, Icon]) => (
        <Button
          key={action}
          size="xs"
          variant="default"
          leftSection={<Icon size={13} />}
          disabled={!jobs.some((job) => isUseful(action, job))}
          onClick={() => setAsked(action)}
        >
          {t(`actions.${action}`)}
        </Button>
      ))}
      <Button size="xs" variant="subtle" onClick={clear}>
        {t('jobs.unselect')}
      </Button>
      {asked !== null && (
        <ConfirmAction
          action={asked}
          jobs={jobs.filter((job) => isUseful(asked, job))}
          onClose={() => setAsked(null)}
          onDone={clear}
          onPart={unmark}
        />
      )}
    </Group>
  );
}

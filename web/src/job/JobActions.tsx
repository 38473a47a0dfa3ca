import { Button, Group, Tooltip } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ActionName, ActionResult, JobDetail } from '../api/contract.gen';
import { say } from '../i18n/say';
import { RestartingIcon, RunningIcon, ScaleIcon, SuspendedIcon, TrashIcon } from '../icons';
import { ConfirmAction } from '../jobs/ConfirmAction';
import { ExportRecording } from '../recordings/ExportRecording';
import { ButtonLink } from '../shell/ButtonLink';
import { useJobAddress } from './jobContext';
import { ScaleDialog } from './ScaleDialog';

const ICONS = {
  suspend: SuspendedIcon,
  resume: RunningIcon,
  scale: ScaleIcon,
  rerun: RestartingIcon,
  delete: TrashIcon,
};

export function JobActions({ job }: { readonly job: JobDetail }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const [asked, setAsked] = useState<ActionName | null>(null);
  const close = () => setAsked(null);
  const done = (results: readonly ActionResult[]) => {
    const result = results[0];
    if (asked === 'delete') void navigate({ to: '/jobs' });
    else if (asked === 'rerun' && result)
      void navigate({
        to: '/jobs/$namespace/$kind/$name',
        params: { namespace: result.namespace, kind: result.kind, name: result.name },
      });
  };
  const address = useJobAddress();
  if (job.recording !== null) return null;
  const possible = job.deleted === null ? job.actions : [];
  const shown = possible.filter((action) => action.name !== 'resume' || action.allowed);
  const withoutSuspend = shown.some((action) => action.name === 'resume');
  return (
    <Group gap="xs" className="job-actions">
      {shown
        .filter((action) => !(withoutSuspend && action.name === 'suspend'))
        .map((action) => {
          const Icon = ICONS[action.name];
          return (
            <Tooltip key={action.name} label={say(action.reason)} disabled={action.reason === ''} multiline maw={360}>
              <Button
                size="xs"
                variant="default"
                leftSection={<Icon size={13} />}
                {...(action.allowed ? {} : { 'data-disabled': true })}
                aria-disabled={!action.allowed}
                onClick={() => action.allowed && setAsked(action.name)}
              >
                {t(`actions.${action.name}`)}
              </Button>
            </Tooltip>
          );
        })}
      <ExportRecording />
      <ButtonLink
        size="xs"
        variant="default"
        to="/jobs/new"
        search={{ from: `${address.namespace}/${address.kind}/${address.name}` }}
      >
        {t('wizard.copy')}
      </ButtonLink>
      {asked === 'scale' && <ScaleDialog job={job} onClose={close} />}
      {asked !== null && asked !== 'scale' && (
        <ConfirmAction action={asked} jobs={[job.summary]} onClose={close} onDone={done} />
      )}
    </Group>
  );
}

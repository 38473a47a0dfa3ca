import { Alert, Button, Group, Modal, NumberInput, Stack, Text, Tooltip } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ActionName, ActionResult, ApiError, JobDetail } from '../api/contract.gen';
import { asProblem } from '../api/http';
import { RestartingIcon, RunningIcon, ScaleIcon, SuspendedIcon, TrashIcon } from '../icons';
import { act } from '../jobs/actions';
import { ConfirmAction } from '../jobs/ConfirmAction';
import { ButtonLink } from '../shell/ButtonLink';
import { ProblemText } from '../shell/ProblemState';

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
  const shown = job.actions.filter((action) => action.name !== 'resume' || action.allowed);
  const withoutSuspend = shown.some((action) => action.name === 'resume');
  return (
    <Group gap="xs" className="job-actions">
      {shown
        .filter((action) => !(withoutSuspend && action.name === 'suspend'))
        .map((action) => {
          const Icon = ICONS[action.name];
          return (
            <Tooltip key={action.name} label={action.reason} disabled={action.reason === ''} multiline maw={360}>
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
      <ButtonLink
        size="xs"
        variant="default"
        to="/jobs/new"
        search={{ from: `${job.summary.namespace}/${job.summary.kind}/${job.summary.name}` }}
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

interface ScaleProps {
  readonly job: JobDetail;
  readonly onClose: () => void;
}

function ScaleDialog({ job, onClose }: ScaleProps) {
  const { t } = useTranslation();
  const { elastic } = job;
  const role = job.roles.find((each) => each.name === elastic?.role) ?? job.roles.at(-1);
  const before = role?.replicas ?? 1;
  const [count, setCount] = useState<number>(before);
  const [problem, setProblem] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      const result = await act('scale', job.summary, { replicas: count, force: elastic === null });
      notifications.show({ message: result.message });
      onClose();
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  };
  return (
    <Modal opened onClose={onClose} title={t('scale.title')} closeButtonProps={{ 'aria-label': t('dialog.close') }}>
      <form onSubmit={(event) => void submit(event)}>
        <Stack gap="sm">
          <NumberInput
            data-autofocus
            label={t('scale.count', { role: role?.name ?? '' })}
            description={elastic ? t('scale.limits', { min: elastic.min, max: elastic.max }) : t('scale.notElastic')}
            value={count}
            min={elastic?.min ?? 0}
            {...(elastic ? { max: elastic.max } : {})}
            allowDecimal={false}
            onChange={(value) => setCount(Number(value))}
          />
          {problem && (
            <Alert color="red" title={problem.tried}>
              <ProblemText problem={problem} />
            </Alert>
          )}
          <Text size="sm" c="dimmed">
            {t('scale.change', { before, after: count })}
          </Text>
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t('dialog.cancel')}
            </Button>
            <Button type="submit" loading={busy} disabled={count === before}>
              {t('actions.scale')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

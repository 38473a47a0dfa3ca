import { Alert, Button, Group, Modal, Slider, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ApiError, JobDetail } from '../api/contract.gen';
import { asProblem } from '../api/http';
import { say } from '../i18n/say';
import { act } from '../jobs/actions';
import { ProblemText } from '../shell/ProblemState';
import { NumberField } from '../wizard/NumberField';

interface Props {
  readonly job: JobDetail;
  readonly onClose: () => void;
}

/** Asks for a number of workers. A number that the job cannot take is refused first, and forced only by a second decision. */
export function ScaleDialog({ job, onClose }: Props) {
  const { t } = useTranslation();
  const { elastic } = job;
  const role = job.roles.find((each) => each.name === (elastic?.role ?? 'Worker')) ?? job.roles.at(-1);
  const before = role?.replicas ?? 1;
  const [count, setCount] = useState(before);
  const [problem, setProblem] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState(false);
  const scale = async (force: boolean) => {
    setBusy(true);
    try {
      const result = await act('scale', job.summary, { replicas: count, force });
      notifications.show({ message: say(result.message) });
      onClose();
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void scale(false);
  };
  const choose = (value: number) => {
    setCount(value);
    setProblem(null);
  };
  const label = t('scale.count', { role: role?.name ?? '' });
  return (
    <Modal opened onClose={onClose} title={t('scale.title')} closeButtonProps={{ 'aria-label': t('dialog.close') }}>
      <form onSubmit={submit}>
        <Stack gap="sm">
          <NumberField
            data-autofocus
            label={label}
            description={elastic ? t('scale.limits', { min: elastic.min, max: elastic.max }) : undefined}
            value={count}
            min={elastic?.min ?? 0}
            {...(elastic ? { max: elastic.max } : {})}
            onNumber={choose}
          />
          {elastic && elastic.max > elastic.min && (
            <Slider
              thumbLabel={label}
              min={elastic.min}
              max={elastic.max}
              value={count}
              onChange={choose}
              marks={[elastic.min, elastic.max].map((value) => ({ value, label: String(value) }))}
              mb="md"
            />
          )}
          {problem && <Refusal problem={problem} busy={busy} force={() => void scale(true)} />}
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

interface RefusalProps {
  readonly problem: ApiError;
  readonly busy: boolean;
  readonly force: () => void;
}

function Refusal({ problem, busy, force }: RefusalProps) {
  const { t } = useTranslation();
  return (
    <Alert color="red" title={t('problem.tried', { tried: say(problem.tried) })}>
      <ProblemText problem={problem} />
      {problem.reason === 'NotPossible' && (
        <>
          <Text size="sm" mt="xs">
            {t('scale.anywayText')}
          </Text>
          <Button size="xs" mt="xs" color="red" variant="light" loading={busy} onClick={force}>
            {t('scale.anyway')}
          </Button>
        </>
      )}
    </Alert>
  );
}

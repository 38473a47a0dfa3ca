import { Alert, Button, Group, List, Modal, Stack, Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ActionName, ActionResult, ApiError, JobSummary } from '../api/contract.gen';
import { asProblem } from '../api/http';
import { jobId } from '../api/patches';
import { say } from '../i18n/say';
import { ProblemText } from '../shell/ProblemState';
import { act, isFinished } from './actions';
import { deleteLater, UNDO_SECONDS } from './deleteLater';

export type ListAction = Exclude<ActionName, 'scale'>;

interface Props {
  readonly action: ListAction;
  readonly jobs: readonly JobSummary[];
  readonly onClose: () => void;
  readonly onDone?: (results: readonly ActionResult[]) => void;
  /** Some are done, others have failed. */
  readonly onPart?: (done: readonly JobSummary[]) => void;
}

const LISTED = 8;

/** Asks before it acts. To delete a job that still runs, its name must be typed; of several, their number. */
export function ConfirmAction({ action, jobs: given, onClose, onDone, onPart }: Props) {
  const { t } = useTranslation();
  const [typed, setTyped] = useState('');
  const [busy, setBusy] = useState(false);
  const [problems, setProblems] = useState<readonly ApiError[]>([]);
  const [failed, setFailed] = useState<ReadonlySet<string> | null>(null);
  // A second try is for those that failed: to rerun the others again would create more copies.
  const jobs = failed === null ? given : given.filter((job) => failed.has(jobId(job)));
  const required = wordToType(action, jobs);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (action === 'delete') {
      deleteLater(jobs, t);
      onDone?.([]);
      onClose();
      return;
    }
    setBusy(true);
    const results = await Promise.allSettled(jobs.map((job) => act(action, job)));
    const problems = results.flatMap((each) => (each.status === 'rejected' ? [asProblem(each.reason)] : []));
    const done = results.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    const isDone = (_: JobSummary, at: number) => results[at]?.status === 'fulfilled';
    setBusy(false);
    if (done.length > 0) notifications.show({ message: done.map((each) => say(each.message)).join('\n') });
    setProblems(problems);
    if (problems.length > 0) {
      setFailed(new Set(jobs.filter((job, at) => !isDone(job, at)).map(jobId)));
      onPart?.(jobs.filter(isDone));
      return;
    }
    onDone?.(done);
    onClose();
  };

  return (
    <Modal
      opened
      onClose={onClose}
      title={t(`confirm.${action}`, { count: jobs.length })}
      closeButtonProps={{ 'aria-label': t('dialog.close') }}
    >
      <form onSubmit={(event) => void submit(event)}>
        <Stack gap="sm">
          <Text size="sm">{t(`confirm.${action}Text`, { seconds: UNDO_SECONDS })}</Text>
          <List size="sm">
            {jobs.slice(0, LISTED).map((job) => (
              <List.Item key={jobId(job)}>
                <code>{job.name}</code>{' '}
                <span className="quiet">
                  {job.namespace} · {job.kindName}
                </span>
              </List.Item>
            ))}
          </List>
          {jobs.length > LISTED && <Text size="sm">{t('confirm.more', { count: jobs.length - LISTED })}</Text>}
          {required !== '' && (
            <TextInput
              label={t('confirm.type', { word: required })}
              value={typed}
              data-autofocus
              autoComplete="off"
              onChange={(event) => setTyped(event.currentTarget.value)}
            />
          )}
          {problems.map((problem) => (
            <Alert key={problem.tried + problem.message} color="red" title={say(problem.tried)}>
              <ProblemText problem={problem} />
            </Alert>
          ))}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t('dialog.cancel')}
            </Button>
            <Button
              type="submit"
              color={action === 'delete' ? 'red' : 'blue'}
              loading={busy}
              disabled={typed !== required}
              {...(required === '' ? { 'data-autofocus': true } : {})}
            >
              {t(`actions.${action}`)}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

function wordToType(action: ListAction, jobs: readonly JobSummary[]): string {
  if (action !== 'delete' || jobs.every(isFinished)) return '';
  return jobs.length === 1 ? (jobs[0]?.name ?? '') : String(jobs.length);
}

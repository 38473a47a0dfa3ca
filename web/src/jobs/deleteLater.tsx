import { Button, Group } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { TFunction } from 'i18next';
import type { JobSummary } from '../api/contract.gen';
import { asProblem } from '../api/http';
import { say } from '../i18n/say';
import { act } from './actions';

/** Nothing is sent for this time: a deletion that was not sent can be undone. */
export const UNDO_SECONDS = 10;
const NAMED = 3;
let count = 0;

/** Deletes the jobs in a while, unless the user takes it back. A page that is closed before deletes nothing. */
export function deleteLater(jobs: readonly JobSummary[], t: TFunction): void {
  count += 1;
  const id = `delete-${count}`;
  const names = jobs.slice(0, NAMED).map((job) => job.name);
  const more = jobs.length > NAMED ? ` +${jobs.length - NAMED}` : '';
  const timer = window.setTimeout(() => {
    notifications.hide(id);
    void send(jobs, t);
  }, UNDO_SECONDS * 1000);
  const undo = () => {
    window.clearTimeout(timer);
    notifications.hide(id);
    notifications.show({ message: t('undo.kept', { names: names.join(', ') + more }) });
  };
  notifications.show({
    id,
    autoClose: false,
    withCloseButton: false,
    message: (
      <Group justify="space-between" wrap="nowrap">
        <span>{t('undo.soon', { names: names.join(', ') + more, seconds: UNDO_SECONDS })}</span>
        <Button size="compact-sm" variant="default" onClick={undo}>
          {t('undo.undo')}
        </Button>
      </Group>
    ),
  });
}

async function send(jobs: readonly JobSummary[], t: TFunction): Promise<void> {
  const results = await Promise.allSettled(jobs.map((job) => act('delete', job)));
  const done = results.flatMap((each) => (each.status === 'fulfilled' ? [say(each.value.message)] : []));
  if (done.length > 0) notifications.show({ message: done.join('\n') });
  for (const each of results)
    if (each.status === 'rejected') {
      const problem = asProblem(each.reason);
      notifications.show({
        color: 'red',
        autoClose: false,
        title: t('problem.tried', { tried: say(problem.tried) }),
        message: say(problem.message),
      });
    }
}

import { Button, Group } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Failure, JobDetail } from '../api/contract.gen';
import { clock, dateAndTime } from '../format/time';
import { say } from '../i18n/say';
import { CopyIcon, FailedIcon } from '../icons';
import { ButtonLink } from '../shell/ButtonLink';
import { Card } from './Card';
import { useJobAddress, useMomentSearch } from './jobContext';
import { Remedies, Sentences } from './OverviewTab';

interface Props {
  readonly job: JobDetail;
  readonly failure: Failure;
}

/** Which replica broke the job, the proof, and who failed only because of it. */
export function FailureCard({ job, failure }: Props) {
  const { t, i18n } = useTranslation();
  const params = useJobAddress();
  const evidence = failure.evidence.length > 0 ? failure.evidence : failure.message === '' ? [] : [failure.message];
  const moment = useMomentSearch();
  const isRecord = job.deleted !== null || job.recording !== null;
  // The logs of a record end at the moment of the address; those of a job begin there.
  const since =
    isRecord || failure.time === null ? moment : { t: new Date(Date.parse(failure.time) - 5000).toISOString() };
  return (
    <Card
      title={failure.final ? t('failure.final') : t('failure.restarted')}
      tone={failure.final ? 'failed' : 'warning'}
    >
      <p className="failure-root">
        <span className="status failed">
          <FailedIcon size={14} />
          <strong>{failure.replica}</strong>
        </span>
        {failure.node !== '' && <span className="quiet">{t('failure.node', { node: failure.node })}</span>}
        <span className="tag">{failure.reason}</span>
        {failure.exitCode !== null && <span className="tag">{t('failure.exitCode', { code: failure.exitCode })}</span>}
        {failure.disruption && <span className="tag">{t('failure.disruption')}</span>}
        {failure.time !== null && (
          <time className="quiet" dateTime={failure.time} title={dateAndTime(failure.time, i18n.language)}>
            {clock(failure.time, i18n.language)}
          </time>
        )}
      </p>
      {failure.cause !== '' && <p className="failure-cause">{say(failure.cause)}</p>}
      {evidence.length > 0 && (
        <pre className="evidence" tabIndex={0} role="region" aria-label={t('failure.evidence')}>
          {evidence.join('\n')}
        </pre>
      )}
      {failure.victims.length > 0 && (
        <p className="failure-victims">
          {t('failure.victims', { count: failure.victims.length })} {failure.victims.join(', ')}
        </p>
      )}
      <Remedies diagnosis={{ ...job.diagnosis, remedies: remediesOf(job, failure) }} />
      <details className="data-table">
        <summary>{t('failure.details')}</summary>
        <Sentences lines={[...job.diagnosis.causes, ...job.diagnosis.pods, ...job.diagnosis.warnings]} />
      </details>
      <Group gap="xs" mt="sm">
        <ButtonLink
          size="xs"
          variant="default"
          to="/jobs/$namespace/$kind/$name/logs"
          params={params}
          search={{ replica: failure.replica, ...since }}
        >
          {t('failure.logs')}
        </ButtonLink>
        <Button
          size="xs"
          variant="default"
          leftSection={<CopyIcon size={13} />}
          onClick={() => void navigator.clipboard.writeText(markdown(job, failure, evidence))}
        >
          {t('failure.copy')}
        </Button>
      </Group>
    </Card>
  );
}

/** That of the failure first: others, such as for pods that still run, wait until it is repaired. */
function remediesOf(job: JobDetail, { advice }: Failure): string[] {
  return [...new Set([advice, ...job.diagnosis.remedies])].filter((each) => each !== '');
}

/** A text for a chat or a bug report. */
export function markdown(job: JobDetail, failure: Failure, evidence: readonly string[]): string {
  const { namespace, kindName, name } = job.summary;
  const lines = [`**${kindName} ${namespace}/${name}**: ${failure.replica} ${failure.reason}`];
  if (failure.exitCode !== null) lines[0] += `, exit code ${failure.exitCode}`;
  if (failure.cause !== '') lines.push('', failure.cause);
  if (evidence.length > 0) lines.push('', '```', ...evidence, '```');
  if (failure.victims.length > 0) lines.push('', `Failed because of it: ${failure.victims.join(', ')}`);
  return lines.join('\n');
}

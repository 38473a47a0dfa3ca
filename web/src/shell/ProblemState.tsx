import { Button, Center, Code, Group, Stack, Text, Title } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { ApiError } from '../api/contract.gen';
import { CONSOLE_AWAY } from '../api/http';
import { Sentence } from '../i18n/Sentence';
import { say } from '../i18n/say';
import { FailedIcon } from '../icons';
import { ButtonLink } from './ButtonLink';

interface Props {
  readonly problem: ApiError;
  readonly retry?: () => void;
}

/** A page that cannot be shown: what was tried, the words of the server, one next step. */
export function ProblemState({ problem, retry }: Props) {
  const { t } = useTranslation();
  return (
    <Center mih={320} p="xl" component="section" role="alert" className="problem-page">
      <Stack align="center" gap="xs" maw={640}>
        <span className="problem-icon">
          <FailedIcon size={28} />
        </span>
        <Title order={1} size="h4" ta="center">
          {problem.reason === CONSOLE_AWAY
            ? t('problem.away')
            : problem.tried === ''
              ? t('problem.title')
              : t('problem.tried', { tried: say(problem.tried) })}
        </Title>
        <ProblemText problem={problem} />
        <Group gap="xs">
          {problem.reason === 'NotFound' && (
            <ButtonLink variant="default" to="/jobs">
              {t('problem.toJobs')}
            </ButtonLink>
          )}
          {retry && (
            <Button variant="default" onClick={retry}>
              {t('problem.retry')}
            </Button>
          )}
        </Group>
      </Stack>
    </Center>
  );
}

/** The words of the server and the next step, also inside dialogs and notifications. */
export function ProblemText({ problem }: { readonly problem: ApiError }) {
  const { t } = useTranslation();
  const right = problem.missingRight;
  return (
    <Stack gap={4} className="problem-text">
      <Text size="sm" className="wrap">
        {problem.reason === CONSOLE_AWAY ? t('problem.awayStep') : <Sentence text={problem.message} />}
      </Text>
      {right && (
        <Text size="sm">
          {t('problem.right')}{' '}
          <Code>{[right.verb, [right.resource, right.subresource].filter(Boolean).join('/')].join(' ')}</Code>
          {right.namespace !== '' && ` (${right.namespace})`}
        </Text>
      )}
      {problem.fields.map((field) => (
        <Text size="sm" key={`${field.path}:${field.line}:${field.message}`} className="wrap">
          {field.line > 0 && `${t('problem.line', { line: field.line })}: `}
          {field.path !== '' && <Code>{field.path}</Code>} {say(field.message)}
        </Text>
      ))}
      {problem.nextStep !== '' && (
        <Text size="sm" fw={600} className="wrap">
          <Sentence text={problem.nextStep} />
        </Text>
      )}
    </Stack>
  );
}

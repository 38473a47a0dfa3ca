import { Button, Group, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { LogPage, PatternMatches } from '../api/contract.gen';
import { asProblem, request } from '../api/http';
import { Sentence } from '../i18n/Sentence';
import { useJobAddress } from '../job/jobContext';
import { jobPath } from '../jobs/actions';
import { plainText } from '../logs/terminalLine';
import { useSettled } from '../wizard/useSettled';
import { shown } from './charts';

const MOST = 500;

interface Props {
  /** That of the address. Empty: the patterns of the console. */
  readonly pattern: string;
  readonly use: (pattern: string) => void;
}

/** A pattern of the user, which is tried on a line before it is used. */
export function PatternField({ pattern, use }: Props) {
  const { t } = useTranslation();
  const [opened, setOpened] = useState(pattern !== '');
  return (
    <details
      className="data-table"
      open={opened}
      onToggle={(event) => setOpened(event.currentTarget.open)}
      data-testid="pattern"
    >
      <summary>{t('pattern.title')}</summary>
      {opened && <PatternForm key={pattern} pattern={pattern} use={use} />}
    </details>
  );
}

function PatternForm({ pattern, use }: Props) {
  const { t } = useTranslation();
  const [text, setText] = useState(pattern);
  const [typedLine, setTypedLine] = useState<string | null>(null);
  const lastLine = useLastLine();
  const line = typedLine ?? lastLine;
  const trial = useTrial(useSettled(text), useSettled(line));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    use(text);
  };
  return (
    <form onSubmit={submit} className="pattern-form">
      <TextInput
        label={t('pattern.pattern')}
        description={t('pattern.hint')}
        placeholder={'loss=(?P<loss>[0-9.]+)'}
        classNames={{ input: 'mono' }}
        spellCheck={false}
        maxLength={MOST}
        value={text}
        error={trial.error && <Sentence text={asProblem(trial.error).message} />}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <TextInput
        label={t('pattern.line')}
        classNames={{ input: 'mono' }}
        spellCheck={false}
        value={line}
        onChange={(event) => setTypedLine(event.currentTarget.value)}
      />
      <Found matches={trial.data} />
      <Group gap="xs">
        <Button type="submit" size="xs" disabled={text === pattern || text === '' || trial.error !== null}>
          {t('pattern.use')}
        </Button>
        {pattern !== '' && (
          <Button size="xs" variant="default" onClick={() => use('')}>
            {t('pattern.remove')}
          </Button>
        )}
      </Group>
    </form>
  );
}

function useTrial(pattern: string, line: string) {
  return useQuery({
    queryKey: ['series:try', pattern, line],
    queryFn: ({ signal }) =>
      request<PatternMatches>('POST', 'series:try', { body: JSON.stringify({ pattern, text: line }), signal }),
    enabled: line !== '' || pattern !== '',
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
}

/** The last line of output that has a number. */
function useLastLine(): string {
  const path = jobPath(useJobAddress());
  const { data } = useQuery({
    queryKey: ['lastLines', path],
    queryFn: ({ signal }) => request<LogPage>('GET', `${path}/logs?tail=20&limit=100`, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  const texts = data?.lines.map((each) => plainText(each.text)) ?? [];
  return texts.findLast((text) => /\d/.test(text)) ?? '';
}

function Found({ matches }: { readonly matches: PatternMatches | undefined }) {
  const { t } = useTranslation();
  if (!matches) return null;
  return (
    <p role="status">
      {matches.matches.length === 0 && <span className="quiet">{t('pattern.none')}</span>}
      {matches.matches.map((each) => (
        <span key={each.name} className="tag">
          {each.name} = {shown(each.value, 'number')}
        </span>
      ))}
    </p>
  );
}

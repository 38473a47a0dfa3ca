import { Button, Code, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ApiError } from '../api/contract.gen';
import { say } from '../i18n/say';
import type { SignInProps } from './SignInPage';

/** The whole link may be pasted, or the token alone. */
export function tokenOf(text: string): string {
  return /[#&]token=([^&\s]+)/.exec(text)?.[1] ?? text.trim();
}

interface Props extends SignInProps {
  readonly problem: ApiError;
}

export function LinkForm({ signIn, problem }: Props) {
  const { t } = useTranslation();
  const [text, setText] = useState('');
  const [failed, setFailed] = useState<ApiError | null>(problem.reason === 'SignInRequired' ? null : problem);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void signIn({ token: tokenOf(text) }).then(setFailed);
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <Text size="sm">{t('signIn.how')}</Text>
        <Code block>{'traincrew console'}</Code>
        <TextInput
          label={t('signIn.link')}
          value={text}
          error={failed && say(failed.message)}
          onChange={(event) => setText(event.currentTarget.value)}
          autoComplete="off"
        />
        <Button type="submit" disabled={text.trim() === ''}>
          {t('signIn.submit')}
        </Button>
      </Stack>
    </form>
  );
}

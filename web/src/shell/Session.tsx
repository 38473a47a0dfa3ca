import { Button, Center, Code, Loader, Paper, Stack, Text, TextInput, Title } from '@mantine/core';
import { RouterProvider } from '@tanstack/react-router';
import { type FormEvent, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ApiError, SessionInfo } from '../api/contract.gen';
import { asProblem, CONSOLE_AWAY, keepSession, request } from '../api/http';
import { stream } from '../api/stream';
import { useStreamState } from '../api/topics';
import { router } from '../router';
import { ProblemState } from './ProblemState';

type State = 'starting' | 'signedIn' | ApiError;

/** The token of the link is in the fragment, which no server sees. It leaves the address bar at once. */
function takeToken(): string {
  const token = new URLSearchParams(window.location.hash.slice(1)).get('token') ?? '';
  if (token !== '') window.history.replaceState(null, '', window.location.pathname + window.location.search);
  return token;
}

async function signIn(token: string): Promise<State> {
  try {
    const session =
      token === ''
        ? await request<SessionInfo>('GET', 'session')
        : await request<SessionInfo>('POST', 'session', { body: JSON.stringify({ token }) });
    keepSession(session);
    stream.connect();
    return 'signedIn';
  } catch (error) {
    return asProblem(error);
  }
}

// Outside of the component: a token is valid once, and React may mount a component twice.
let first: Promise<State> | null = null;

function firstSignIn(): Promise<State> {
  first ??= signIn(takeToken());
  return first;
}

export function Session() {
  const [state, setState] = useState<State>('starting');
  const { connection } = useStreamState();
  useEffect(() => void firstSignIn().then(setState), []);
  const again = (token: string) => void signIn(token).then(setState);

  if (state === 'starting')
    return (
      <Center h="100vh">
        <Loader />
      </Center>
    );
  if (state === 'signedIn' && connection !== 'signedOut') return <RouterProvider router={router} />;
  if (state !== 'signedIn' && state.reason === CONSOLE_AWAY)
    return <ProblemState problem={state} retry={() => again('')} />;
  return <SignIn onToken={again} problem={state === 'signedIn' ? null : state} />;
}

/** The whole link may be pasted, or the token alone. */
export function tokenOf(text: string): string {
  return /[#&]token=([^&\s]+)/.exec(text)?.[1] ?? text.trim();
}

interface SignInProps {
  readonly onToken: (token: string) => void;
  readonly problem: ApiError | null;
}

function SignIn({ onToken, problem }: SignInProps) {
  const { t } = useTranslation();
  const [text, setText] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onToken(tokenOf(text));
  };
  const other = problem !== null && problem.reason !== 'SignInRequired' ? problem.message : '';
  return (
    <Center h="100vh" component="main" p="md">
      <Paper withBorder p="xl" w={460} maw="100%">
        <form onSubmit={submit}>
          <Stack>
            <Title order={1} size="h3">
              {t('signIn.title')}
            </Title>
            <Text size="sm">{t('signIn.how')}</Text>
            <Code block>{'traincrew console'}</Code>
            <TextInput
              label={t('signIn.link')}
              value={text}
              error={other}
              onChange={(event) => setText(event.currentTarget.value)}
              autoComplete="off"
            />
            <Button type="submit" disabled={text.trim() === ''}>
              {t('signIn.submit')}
            </Button>
          </Stack>
        </form>
      </Paper>
    </Center>
  );
}

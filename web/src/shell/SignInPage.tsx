import { Center, Loader, Paper, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ApiError, SignIn, SignInOptions } from '../api/contract.gen';
import { asProblem, request } from '../api/http';
import { CredentialsForm } from './CredentialsForm';
import { LinkForm } from './LinkForm';
import { ProblemState } from './ProblemState';
import { useTitle } from './useTitle';

export interface SignInProps {
  /** The problem, or null if the user is signed in. */
  readonly signIn: (wanted: SignIn | null) => Promise<ApiError | null>;
}

interface Props extends SignInProps {
  readonly problem: ApiError;
  readonly ended: boolean;
}

/** How the console wants it: with a link, with credentials of the user, or through a proxy. */
export function SignInPage({ problem, ended, signIn }: Props) {
  const { t } = useTranslation();
  useTitle(t('signIn.title'));
  const options = useQuery({
    queryKey: ['signIn'],
    queryFn: ({ signal }) => request<SignInOptions>('GET', 'sign-in', { signal }),
  });
  if (options.error) return <ProblemState problem={asProblem(options.error)} retry={() => void options.refetch()} />;
  if (!options.data)
    return (
      <Center h="100vh">
        <Loader />
      </Center>
    );
  const methods = options.data.methods;
  if (methods.includes('proxy')) return <ProxySignIn signIn={signIn} />;
  return (
    <Center mih="100vh" component="main" p="md">
      <Paper withBorder p="xl" w={500} maw="100%">
        <Stack>
          <Title order={1} size="h3">
            {t('signIn.title')}
          </Title>
          {ended && (
            <Text size="sm" role="status">
              {t('signIn.ended')}
            </Text>
          )}
          {methods.includes('link') ? (
            <LinkForm signIn={signIn} problem={problem} />
          ) : (
            <CredentialsForm signIn={signIn} />
          )}
        </Stack>
      </Paper>
    </Center>
  );
}

/** The proxy has signed the user in already. */
function ProxySignIn({ signIn }: SignInProps) {
  const [problem, setProblem] = useState<ApiError | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once; the user tries again.
  useEffect(() => void signIn({}).then(setProblem), []);
  if (problem === null)
    return (
      <Center h="100vh">
        <Loader />
      </Center>
    );
  return <ProblemState problem={problem} retry={() => void signIn({}).then(setProblem)} />;
}

import { Center, Loader } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import type { ApiError, SessionInfo, SignIn } from '../api/contract.gen';
import { asProblem, CONSOLE_AWAY, keepSession, onSignedOut, request } from '../api/http';
import { stream } from '../api/stream';
import { router } from '../router';
import { ProblemState } from './ProblemState';
import { SignInPage } from './SignInPage';

/** `ended`: there was a session; its page comes back after the sign-in. */
type State = 'starting' | 'signedIn' | { readonly problem: ApiError; readonly ended: boolean };

/** The token of the link is in the fragment, which no server sees. It leaves the address bar at once. */
function takeToken(): string {
  const token = new URLSearchParams(window.location.hash.slice(1)).get('token') ?? '';
  if (token !== '') window.history.replaceState(null, '', window.location.pathname + window.location.search);
  return token;
}

/** null: continue the session of the cookie. */
async function signIn(wanted: SignIn | null): Promise<ApiError | null> {
  try {
    const session =
      wanted === null
        ? await request<SessionInfo>('GET', 'session')
        : await request<SessionInfo>('POST', 'session', { body: JSON.stringify(wanted) });
    keepSession(session);
    stream.connect();
    return null;
  } catch (error) {
    return asProblem(error);
  }
}

const stateOf = (problem: ApiError | null): State => (problem === null ? 'signedIn' : { problem, ended: false });

// Outside of the component: a token is valid once, and React may mount a component twice.
let first: Promise<ApiError | null> | null = null;

function firstSignIn(): Promise<ApiError | null> {
  const token = takeToken();
  first ??= signIn(token === '' ? null : { token });
  return first;
}

/** The address and the drafts stay while the user signs in again. */
export function Session() {
  const [state, setState] = useState<State>('starting');
  const queries = useQueryClient();
  useEffect(() => void firstSignIn().then((problem) => setState(stateOf(problem))), []);
  useEffect(
    () => onSignedOut((problem) => setState((before) => (before === 'signedIn' ? { problem, ended: true } : before))),
    [],
  );
  const again = async (wanted: SignIn | null): Promise<ApiError | null> => {
    const problem = await signIn(wanted);
    if (problem === null) {
      queries.clear(); // it may be another user
      setState('signedIn');
    }
    return problem;
  };

  if (state === 'starting')
    return (
      <Center h="100vh">
        <Loader />
      </Center>
    );
  if (state === 'signedIn') return <RouterProvider router={router} />;
  if (state.problem.reason === CONSOLE_AWAY)
    return (
      <ProblemState
        problem={state.problem}
        retry={() => void again(null).then((problem) => setState(stateOf(problem)))}
      />
    );
  return <SignInPage problem={state.problem} ended={state.ended} signIn={again} />;
}

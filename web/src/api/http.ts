import type { ApiError, SessionInfo } from './contract.gen';
import { WAITS, withRetries } from './retry';

const CSRF_KEY = 'traincrew.csrf';

/** Addresses are relative to <base href>: the console may be served under a path prefix. */
export function apiUrl(path: string): URL {
  return new URL(`api/v1/${path}`, document.baseURI);
}

export function csrfToken(): string {
  return localStorage.getItem(CSRF_KEY) ?? '';
}

let current: SessionInfo | null = null;

export function keepSession(session: SessionInfo): void {
  current = session;
  localStorage.setItem(CSRF_KEY, session.csrfToken);
}

export const currentSession = (): SessionInfo | null => current;

/** The key of what the browser keeps for the user: another user of the same browser does not see it. */
export function userKey(name: string): string {
  return current === null || current.user === '' ? name : `${name}:${current.user}`;
}

type OnSignedOut = (problem: ApiError) => void;
const signedOut = new Set<OnSignedOut>();

/** Calls the listener whenever the console says that the session has ended. */
export function onSignedOut(listener: OnSignedOut): () => void {
  signedOut.add(listener);
  return () => signedOut.delete(listener);
}

export class RequestError extends Error {
  constructor(readonly problem: ApiError) {
    super(problem.message);
  }
}

/** What the page says if the server of the console does not respond at all. */
export const CONSOLE_AWAY = 'ConsoleAway';

function away(method: string, path: string): ApiError {
  return {
    tried: `${method} ${path}`,
    message: '',
    reason: CONSOLE_AWAY,
    code: 0,
    nextStep: '',
    fields: [],
    missingRight: null,
  };
}

interface Options {
  readonly body?: string | Blob;
  readonly type?: string;
  readonly signal?: AbortSignal;
  /** Answers at once if the console does not respond. */
  readonly once?: boolean;
}

async function send(method: string, path: string, options: Options): Promise<Response> {
  const headers: Record<string, string> = { 'X-CSRF-Token': csrfToken() };
  if (options.body !== undefined) headers['Content-Type'] = options.type ?? 'application/json';
  try {
    return await fetch(apiUrl(path), {
      method,
      headers,
      credentials: 'same-origin',
      ...(options.body === undefined ? {} : { body: options.body }),
      ...(options.signal ? { signal: options.signal } : {}),
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new RequestError(away(method, path));
  }
}

async function problemOf(response: Response, method: string, path: string): Promise<ApiError> {
  try {
    return (await response.json()) as ApiError;
  } catch {
    return { ...away(method, path), message: response.statusText, reason: 'InternalError', code: response.status };
  }
}

async function refused(response: Response, method: string, path: string): Promise<RequestError> {
  const problem = await problemOf(response, method, path);
  if (problem.reason === 'SignInRequired') for (const listener of signedOut) listener(problem);
  return new RequestError(problem);
}

type Read<T> = (response: Response) => Promise<T>;

/** Browsers interrupt requests when the network changes, as it does with each pod on this machine. To read again does no harm. */
function answered<T>(method: string, path: string, options: Options, read: Read<T>): Promise<T> {
  const waits = method === 'GET' && !options.once ? WAITS : [];
  return withRetries(() => answeredOnce(method, path, options, read), isAway, options.signal, waits);
}

const isAway = (error: unknown) => error instanceof RequestError && error.problem.reason === CONSOLE_AWAY;

async function answeredOnce<T>(method: string, path: string, options: Options, read: Read<T>): Promise<T> {
  const response = await send(method, path, options);
  if (!response.ok) throw await refused(response, method, path);
  try {
    return await read(response);
  } catch (error) {
    // The connection broke within the body.
    throw error instanceof TypeError ? new RequestError(away(method, path)) : error;
  }
}

export function request<T>(method: string, path: string, options: Options = {}): Promise<T> {
  const read = async (response: Response) => (response.status === 204 ? undefined : await response.json()) as T;
  return answered(method, path, options, read);
}

/** The file of an answer, for the browser to save: a link could not send the header that every request needs. */
export async function download(path: string, name: string): Promise<void> {
  const address = URL.createObjectURL(await answered('GET', path, {}, (response) => response.blob()));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}

export function asProblem(error: unknown): ApiError {
  if (error instanceof RequestError) return error.problem;
  return { ...away('', ''), message: String(error), reason: 'InternalError' };
}

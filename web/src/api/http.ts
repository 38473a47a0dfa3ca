import type { ApiError, SessionInfo } from './contract.gen';

const CSRF_KEY = 'traincrew.csrf';

/** Addresses are relative to <base href>: the console may be served under a path prefix. */
export function apiUrl(path: string): URL {
  return new URL(`api/v1/${path}`, document.baseURI);
}

export function csrfToken(): string {
  return localStorage.getItem(CSRF_KEY) ?? '';
}

export function keepSession(session: SessionInfo): void {
  localStorage.setItem(CSRF_KEY, session.csrfToken);
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
  readonly body?: string;
  readonly type?: string;
  readonly signal?: AbortSignal;
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

export async function request<T>(method: string, path: string, options: Options = {}): Promise<T> {
  const response = await send(method, path, options);
  if (!response.ok) throw new RequestError(await problemOf(response, method, path));
  return (response.status === 204 ? undefined : await response.json()) as T;
}

/** The file of an answer, for the browser to save: a link could not send the header that every request needs. */
export async function download(path: string, name: string): Promise<void> {
  const response = await send('GET', path, {});
  if (!response.ok) throw new RequestError(await problemOf(response, 'GET', path));
  const address = URL.createObjectURL(await response.blob());
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

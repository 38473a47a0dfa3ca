// The view of the logs is in the URL, and so is the topic of the WebSocket: the server selects the lines.

import type { Level } from '../api/contract.gen';

export const LEVELS = ['debug', 'info', 'warning', 'error'] as const satisfies readonly Level[];
export type LevelFilter = (typeof LEVELS)[number];

export interface LogSearch {
  readonly replica?: string;
  readonly level?: LevelFilter;
  readonly q?: string;
  readonly regex?: '1';
  /** Other lines are shown, too; matches are only marked. */
  readonly context?: '1';
  /** Lines around this time. Of a recorded job: lines until then, as on all of its page. */
  readonly t?: string;
  /** All lines that are kept, not only the last ones. */
  readonly all?: '1';
  /** Lines that several replicas print are shown once. */
  readonly mode?: 'consensus';
  readonly wrap?: '1';
  /** The run of each container before its last restart. */
  readonly previous?: '1';
}

export const LAST_LINES = 5000;
/** The console sends no more of the past of one log. Older lines are found by search and download. */
export const MOST_OF_THE_PAST = 1_000_000;
/** Lines from a moment on, of all logs together. */
export const FROM_A_MOMENT = 20_000;
/** A browser cannot make an element taller than 33 million pixels; at 20 a row, this is well below. */
export const MOST_LINES = 1_000_000;

export function readLogSearch(raw: Record<string, unknown>): LogSearch {
  const search: Record<string, string> = {};
  for (const name of ['replica', 'q'] as const) {
    const value = raw[name];
    if ((typeof value === 'string' && value !== '') || typeof value === 'number') search[name] = String(value);
  }
  if ((LEVELS as readonly unknown[]).includes(raw.level)) search.level = String(raw.level);
  for (const name of ['regex', 'context', 'all', 'wrap', 'previous'] as const)
    if (String(raw[name]) === '1') search[name] = '1';
  if (raw.mode === 'consensus') search.mode = 'consensus';
  if (typeof raw.t === 'string' && !Number.isNaN(Date.parse(raw.t))) search.t = raw.t;
  return search;
}

/** The page has the lines of a recorded job and cuts them at the moment: it is no part of the query. */
export function ofRecord({ t, ...search }: LogSearch): LogSearch {
  return t === undefined ? search : { ...search, all: '1' };
}

/** Parameters of the topic and of the REST path. `everything` ignores the limits of the window. */
export function logQuery(search: LogSearch, everything = false): URLSearchParams {
  const query = new URLSearchParams();
  if (search.replica) query.set('replica', search.replica);
  if (search.level) query.set('level', search.level);
  if (search.q && (!search.context || everything)) {
    query.set('q', search.q);
    if (search.regex) query.set('regex', '1');
  }
  const around = search.t !== undefined && !search.previous && !everything;
  if (search.t) query.set(around ? 'at' : 'since', search.t);
  if (search.previous) query.set('previous', '1');
  else if (!everything) query.set('tail', String(around ? FROM_A_MOMENT : search.all ? MOST_OF_THE_PAST : LAST_LINES));
  return query;
}

/** Whether a log may have lines that match before those that the view began with. */
export function mayHaveOlder(search: LogSearch, received: ReadonlyMap<string, number>): boolean {
  if (search.all || search.t || search.previous) return false;
  return [...received.values()].some((each) => each >= LAST_LINES);
}

/** Finds the text of the search in a line, or null if there is none or it is no regular expression. */
export function matcherOf(search: LogSearch): RegExp | null {
  if (!search.q) return null;
  try {
    return new RegExp(search.regex ? search.q : search.q.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'gi');
  } catch {
    return null;
  }
}

/** The fragment of an address that names a line, such as #L=worker-0/pytorch:000000000012-000. */
export function lineFragment(line: { source: string; sequence: string }): string {
  return `L=${line.source}:${line.sequence}`;
}

/** The time of a line: its sequence begins with nanoseconds since 1970. */
export function timeOfLine(sequence: string): string {
  return new Date(Number(sequence.slice(0, 13))).toISOString();
}

export function lineOfFragment(fragment: string): { source: string; sequence: string } | null {
  const found = /^#?L=(.+):([^:]+)$/.exec(decodeURIComponent(fragment));
  return found?.[1] && found[2] ? { source: found[1], sequence: found[2] } : null;
}

// Texts that are not submitted yet, by what they began with: a kind, a job, a template, a file. None overwrites another, and a
// reload of the page shows the text as it was left.

import { userKey } from '../api/http';

const KEY = 'traincrew.drafts';
const KEPT = 12;

export interface Draft {
  readonly text: string;
  /** When it was changed, in milliseconds since 1970. */
  readonly time: number;
}

export type Drafts = Readonly<Record<string, Draft>>;

/** The address of the page without its draft: `?from=`, `?kind=`, or nothing. */
export interface Origin {
  readonly kind?: string;
  readonly from?: string;
}

export function originKey(origin: Origin): string {
  if (origin.from !== undefined) return `from=${origin.from}`;
  return origin.kind === undefined ? '' : `kind=${origin.kind}`;
}

export function originOf(key: string): Origin {
  const at = key.indexOf('=');
  const value = key.slice(at + 1);
  return at < 0 ? {} : key.startsWith('from=') ? { from: value } : { kind: value };
}

/** `template:NAME`, or a job as `NAMESPACE/KIND/NAME`, also with `job:` before it. */
export const FROM = /^(template:.+|(job:)?[^/:]+\/[^/]+\/[^/]+)$/;

export function sourceOf({ from }: Origin): { job?: string; template?: string } {
  if (from === undefined) return {};
  return from.startsWith('template:') ? { template: from.slice(9) } : { job: from.replace(/^job:/, '') };
}

/** An address with a kind or a source means that one; an address with nothing means what was written last. */
export function draftOf(drafts: Drafts, origin: Origin): { key: string; text: string } | null {
  const wanted = originKey(origin);
  if (wanted !== '') return drafts[wanted] ? { key: wanted, text: drafts[wanted].text } : null;
  const newest = byTime(drafts)[0];
  return newest ? { key: newest[0], text: newest[1].text } : null;
}

export function withDraft(drafts: Drafts, key: string, text: string, time: number): Drafts {
  return Object.fromEntries(byTime({ ...drafts, [key]: { text, time } }).slice(0, KEPT));
}

export function withoutDraft(drafts: Drafts, key: string): Drafts {
  return Object.fromEntries(Object.entries(drafts).filter(([each]) => each !== key));
}

function byTime(drafts: Drafts): [string, Draft][] {
  return Object.entries(drafts).sort(([, a], [, b]) => b.time - a.time);
}

function isDraft(value: unknown): value is Draft {
  const draft = value as Draft | null;
  return typeof draft?.text === 'string' && typeof draft.time === 'number';
}

export function readDrafts(stored: string | null): Drafts {
  try {
    const value: unknown = JSON.parse(stored ?? '{}');
    if (value === null || typeof value !== 'object') return {};
    return Object.fromEntries(Object.entries(value).filter(([, each]) => isDraft(each))) as Drafts;
  } catch {
    return {};
  }
}

export const loadDrafts = (): Drafts => readDrafts(localStorage.getItem(userKey(KEY)));

export function storeDrafts(drafts: Drafts): void {
  localStorage.setItem(userKey(KEY), JSON.stringify(drafts));
}

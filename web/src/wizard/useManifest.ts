import { useMemo, useState } from 'react';
import type { KindInfo } from '../api/contract.gen';
import { loadDrafts, storeDrafts, withDraft, withoutDraft } from './drafts';
import { type Change, edited, type Parsed, parse } from './manifest';
import { type Form, project } from './projection';

export interface Manifest {
  readonly text: string;
  readonly parsed: Parsed;
  readonly broken: boolean;
  readonly form: Form;
  readonly change: (text: string) => void;
  /** Throws if the text has something else where the form expects its fields. */
  readonly edit: (...changes: Change[]) => void;
  /** The draft is done: the text was submitted. */
  readonly forget: () => void;
}

/** The text of the wizard, its draft in the browser, and what the form shows of it. */
export function useManifest(first: string, draft: string, kinds: readonly KindInfo[]): Manifest {
  const [text, setText] = useState(first);
  const parsed = useMemo(() => parse(text), [text]);
  const [form, setForm] = useState(() => project(parsed.document, kinds));
  const change = (next: string) => {
    setText(next);
    storeDrafts(withDraft(loadDrafts(), draft, next, Date.now()));
    const { document, problems } = parse(next);
    // Broken text freezes the form and never empties it.
    if (problems.length === 0) setForm(project(document, kinds));
  };
  return {
    text,
    parsed,
    broken: parsed.problems.length > 0,
    form,
    change,
    edit: (...changes) => change(edited(text, changes)),
    forget: () => storeDrafts(withoutDraft(loadDrafts(), draft)),
  };
}

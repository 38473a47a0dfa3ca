// Templates that the user has saved. They stay in this browser.

import type { Capabilities } from '../api/contract.gen';
import { userKey } from '../api/http';
import { loadDrafts, originKey, storeDrafts, withoutDraft } from '../wizard/drafts';
import { builtInTemplates, type Template } from './builtIn';

const KEY = 'traincrew.templates';

export type Saved = Readonly<Record<string, string>>;

export function readSaved(stored: string | null): Saved {
  try {
    const value: unknown = JSON.parse(stored ?? '{}');
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return {};
    return Object.fromEntries(Object.entries(value).filter(([, text]) => typeof text === 'string'));
  } catch {
    return {};
  }
}

export const loadSaved = (): Saved => readSaved(localStorage.getItem(userKey(KEY)));

function store(saved: Saved): void {
  localStorage.setItem(userKey(KEY), JSON.stringify(saved));
}

/** A draft that began with the template of this name began with another text: the form must show this one. */
export function saveTemplate(name: string, text: string): void {
  store({ ...loadSaved(), [name]: text });
  storeDrafts(withoutDraft(loadDrafts(), originKey({ from: `template:${name}` })));
}

export function deleteTemplate(name: string): void {
  store(Object.fromEntries(Object.entries(loadSaved()).filter(([each]) => each !== name)));
}

/** A template that the user has saved comes before one of the same name that is built in. */
export function allTemplates(capabilities: Capabilities, saved: Saved): Template[] {
  const own = Object.entries(saved).map(([name, text]) => ({ name, text, builtIn: false }));
  return [...own, ...builtInTemplates(capabilities).filter((each) => !(each.name in saved))];
}

/** `mnist-2` if there is a template `mnist`. */
export function freeName(wanted: string, saved: Saved): string {
  for (let number = 1; ; number++) {
    const name = number === 1 ? wanted : `${wanted}-${number}`;
    if (!(name in saved)) return name;
  }
}

/** `mnist` of `mnist.yaml`. */
export function nameOfFile(file: string): string {
  return file.replace(/\.(ya?ml|json)$/i, '');
}

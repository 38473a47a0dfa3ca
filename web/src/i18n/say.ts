// Sentences of the console's server in the language of the page. The template of a sentence is its code, as with gettext. The
// server writes many sentences into the status of jobs, and the command line prints them: what arrives is the English sentence.
// The catalogue has the template of each, from which the parameters are read. A sentence without a template stays as it is.

import { useTranslation } from 'react-i18next';

type Catalogue = Readonly<Record<string, string>>;

interface Entry {
  readonly pattern: RegExp;
  readonly text: string;
}

const KEPT = 2_000;
const NAME = /\{(\w+)\}/g;

let entries: readonly Entry[] = [];
const known = new Map<string, string>();

/** Only pages in Chinese load it. */
export async function loadSentences(language: string): Promise<void> {
  if (language === 'zh-CN') learn((await import('./sentences.zh-CN.json')).default);
  else learn({});
}

export function learn(catalogue: Catalogue): void {
  known.clear();
  // Of two templates that fit, the one with more words of its own.
  const templates = Object.keys(catalogue).sort((a, b) => own(b) - own(a));
  entries = templates.map((template) => ({ pattern: patternOf(template), text: catalogue[template] ?? template }));
}

const own = (template: string) => template.replaceAll(NAME, '').length;

export function patternOf(template: string): RegExp {
  const seen = new Set<string>();
  const source = template.split(NAME).map((part, at) => {
    if (at % 2 === 0) return part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
    if (seen.has(part)) return `\\k<${part}>`;
    seen.add(part);
    return `(?<${part}>.+?)`;
  });
  return new RegExp(`^${source.join('')}$`, 's');
}

export function say(sentence: string): string {
  if (entries.length === 0 || sentence === '') return sentence;
  const before = known.get(sentence);
  if (before !== undefined) return before;
  const said = translated(sentence);
  if (known.size >= KEPT) known.clear();
  known.set(sentence, said);
  return said;
}

function translated(sentence: string): string {
  for (const { pattern, text } of entries) {
    const found = pattern.exec(sentence);
    if (found) return text.replaceAll(NAME, (_, name: string) => found.groups?.[name] ?? '');
  }
  return sentence;
}

/** The page shows its sentences again when the language changes. */
export function useSay(): (sentence: string) => string {
  useTranslation();
  return say;
}

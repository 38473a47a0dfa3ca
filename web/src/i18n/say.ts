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
  // Of two templates that fit, the one that begins with a word, then the one with more words of its own.
  const templates = Object.keys(catalogue).sort((a, b) => open(a) - open(b) || own(b) - own(a));
  entries = templates.map((template) => ({ pattern: patternOf(template), text: catalogue[template] ?? template }));
}

const own = (template: string) => template.replaceAll(NAME, '').length;
const open = (template: string) => Number(template.startsWith('{'));

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
    if (found) return text.replaceAll(NAME, (_, name: string) => spoken(name, found.groups?.[name] ?? ''));
  }
  return sentence;
}

/** A message inside of a sentence is a sentence, too. */
function spoken(name: string, value: string): string {
  return name === 'message' ? translated(value) : value;
}

export interface Part {
  /** The place in the sentence. */
  readonly at: number;
  readonly text: string;
  readonly code: boolean;
}

/** Words with which sentences of ours begin. A sentence may also begin with the name of a program, which stays as it is. */
const FIRST = /^(a|all|an|its?|job|no|nothing|pods?|replicas?|some|the|this|workers?)(?= )/;

/** The text of a sentence by itself, with a capital letter, and what is in backticks as code. */
export function partsOf(sentence: string): Part[] {
  const text = sentence.replace(FIRST, (word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`);
  const parts = text.split('`');
  if (parts.length % 2 === 0) return [{ at: 0, text, code: false }];
  return parts.map((part, at) => ({ at, text: part, code: at % 2 === 1 })).filter((part) => part.text !== '');
}

/** The page shows its sentences again when the language changes. */
export function useSay(): (sentence: string) => string {
  useTranslation();
  return say;
}

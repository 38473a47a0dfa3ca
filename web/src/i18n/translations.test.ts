import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAst } from 'vite';
import { describe, expect, test } from 'vitest';
import en from './en.json';
import chinese from './zh-CN.json';

type Tree = { [key: string]: string | Tree };

function leaves(tree: Tree, prefix = ''): [string, string][] {
  return Object.entries(tree).flatMap(([key, value]) =>
    typeof value === 'string' ? [[`${prefix}${key}`, value] as [string, string]] : leaves(value, `${prefix}${key}.`),
  );
}

const variablesOf = (text: string) => [...text.matchAll(/\{\{(\w+)\}\}/g)].map((match) => match[1]).sort();
/** English has two forms of a plural, Chinese has one. */
const withoutPlural = (key: string) => key.replace(/_(one|other)$/, '');

describe('Chinese and English', () => {
  const english = new Map(leaves(en));
  const translated = new Map(leaves(chinese));

  test('have the same keys', () => {
    const keys = (map: Map<string, string>) => [...new Set([...map.keys()].map(withoutPlural))].sort();
    expect(keys(translated)).toEqual(keys(english));
  });

  test('have no empty text', () => {
    expect([...english, ...translated].filter(([, text]) => text.trim() === '')).toEqual([]);
  });

  test('have the same variables', () => {
    for (const [key, text] of translated) {
      const other = english.get(key) ?? english.get(`${withoutPlural(key)}_other`) ?? '';
      expect([key, variablesOf(text)]).toEqual([key, variablesOf(other)]);
    }
  });
});

interface Syntax {
  type: string;
  value?: unknown;
  name?: { name?: unknown };
  start?: number;
}

function visit(value: unknown, found: (node: Syntax) => void): void {
  if (Array.isArray(value)) for (const each of value) visit(each, found);
  else if (value !== null && typeof value === 'object') {
    if ('type' in value) found(value as Syntax);
    for (const each of Object.values(value)) visit(each, found);
  }
}

const SPOKEN = new Set(['title', 'label', 'placeholder', 'aria-label', 'description', 'alt']);
const LETTERS = /\p{L}{2,}/u;

function rawTexts(file: string): string[] {
  const raw: string[] = [];
  visit(parseAst(readFileSync(file, 'utf8'), { lang: 'tsx' }), (node) => {
    if (node.type === 'JSXText' && LETTERS.test(String(node.value))) raw.push(`${file}: ${String(node.value).trim()}`);
    const literal = node.type === 'JSXAttribute' && (node.value as Syntax | null)?.type === 'Literal';
    if (literal && SPOKEN.has(String(node.name?.name)) && LETTERS.test(String((node.value as Syntax).value)))
      raw.push(`${file}: ${String(node.name?.name)}=${String((node.value as Syntax).value)}`);
  });
  return raw;
}

test('no text is written into the page itself', () => {
  const root = join(import.meta.dirname, '..');
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((each) => each.endsWith('.tsx'));
  expect(files.length).toBeGreaterThan(10);
  expect(files.flatMap((each) => rawTexts(join(root, each)))).toEqual([]);
});

test('every key that the page uses exists, and every key is used', () => {
  const root = join(import.meta.dirname, '..');
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((each) =>
    /(?<!\.test)\.tsx?$/.test(each),
  );
  const source = files.map((each) => readFileSync(join(root, each), 'utf8')).join('\n');
  const unused = leaves(en)
    .map(([key]) => withoutPlural(key))
    .filter((key) => !source.includes(`'${key}'`) && !source.includes(`\`${key.replace(/\.[^.]+$/, '')}.$\{`));
  expect(unused).toEqual([]);
});

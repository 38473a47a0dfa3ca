import { afterEach, expect, test } from 'vitest';
import { learn, patternOf, say } from './say';
import chinese from './sentences.zh-CN.json';

const variablesOf = (text: string) => [...new Set([...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1]))].sort();

afterEach(() => learn({}));

test('every template has Chinese with the same parameters', () => {
  for (const [template, text] of Object.entries(chinese)) {
    expect([template, variablesOf(text)]).toEqual([template, variablesOf(template)]);
    expect(text).toMatch(/\p{Script=Han}/u);
  }
});

test('every template finds itself and no other', () => {
  learn(chinese);
  for (const [template, text] of Object.entries(chinese)) {
    const fill = (sentence: string) => sentence.replaceAll(/\{(\w+)\}/g, (_, name: string) => `x-${name}`);
    expect(say(fill(template))).toBe(fill(text));
  }
});

test('a repeated parameter is one parameter', () => {
  expect(patternOf('{file} or `bash {file}`').test('a.sh or `bash a.sh`')).toBe(true);
  expect(patternOf('{file} or `bash {file}`').test('a.sh or `bash b.sh`')).toBe(false);
});

test('an unknown sentence stays as it is, and so does every sentence in English', () => {
  learn(chinese);
  expect(say('something else happened.')).toBe('something else happened.');
  expect(say('Use a smaller batch.')).toBe('减小批大小。');
  learn({});
  expect(say('Use a smaller batch.')).toBe('Use a smaller batch.');
});

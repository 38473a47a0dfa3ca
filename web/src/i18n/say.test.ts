import { afterEach, expect, test } from 'vitest';
import { learn, partsOf, patternOf, say } from './say';
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

test('a message inside of a sentence is said, too', () => {
  learn(chinese);
  const waits =
    'pod large-worker-0 cannot be scheduled: 0/1 nodes are available: 1 Insufficient nvidia.com/gpu. This machine has no ' +
    'nvidia.com/gpu. To declare some, start the cluster with `traincrew up --device nvidia.com/gpu=N`. ' +
    '(the same for 2 of 2 pods) (Unschedulable, for 2m55s)';
  expect(say(waits)).toBe(
    'Pod large-worker-0 无法调度：共 1 个节点，均不可用：1 Insufficient nvidia.com/gpu. 本机没有 nvidia.com/gpu。' +
      '如需声明，请用 `traincrew up --device nvidia.com/gpu=N` 启动集群。（2 个 Pod 中有 2 个相同）（Unschedulable，已持续 2m55s）',
  );
});

test('a sentence by itself begins with a capital letter, and code in it is code', () => {
  expect(partsOf('the job is suspended. Run `traincrew resume a`.')).toEqual([
    { at: 0, text: 'The job is suspended. Run ', code: false },
    { at: 1, text: 'traincrew resume a', code: true },
    { at: 2, text: '.', code: false },
  ]);
});

test('the name of a program and a single backtick stay as they are', () => {
  expect(partsOf('mpirun lost the connection').map((part) => part.text)).toEqual(['mpirun lost the connection']);
  expect(partsOf('no such file: `a').map((part) => part.text)).toEqual(['No such file: `a']);
});

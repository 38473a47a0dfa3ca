import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAst } from 'vite';
import { expect, test } from 'vitest';

// Sentences of the server reach the user through say() or <Sentence>. This finds those that a component shows as they came.

/** Fields of the contract that have a sentence of the server, and lists of sentences. */
const FIELDS = new Set(['message', 'nextStep', 'tried', 'unavailable', 'stalled']);
const LISTS = /\.(notes|errors|missing|unavailable)\b/;
/** Attributes and properties that are shown. */
const SHOWN = new Set(['title', 'label', 'placeholder', 'aria-label', 'description', 'alt', 'error', 'message']);

/** What others have written: the YAML parser, the kubelet, components of Kubernetes, the program of the user. */
const QUOTED: Readonly<Record<string, readonly string[]>> = {
  'wizard/Wizard.tsx': ['problem.message'],
  'job/EventsTab.tsx': ['event.message'],
  'job/ReplicaTab.tsx': ['container.message'],
  'tensorboard/TensorBoardTab.tsx': ['data.message'],
};

// biome-ignore lint/suspicious/noExplicitAny: the syntax tree of any source.
type Node = any;

function visit(value: Node, found: (node: Node) => void): void {
  if (Array.isArray(value)) for (const each of value) visit(each, found);
  else if (value !== null && typeof value === 'object') {
    if (typeof value.type === 'string') found(value);
    for (const each of Object.values(value)) visit(each, found);
  }
}

interface Scope {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/** The parameters of callbacks that get one sentence of a list. */
function sentenceParameters(tree: Node, source: string): Scope[] {
  const scopes: Scope[] = [];
  visit(tree, (node) => {
    if (node.type !== 'CallExpression' || node.callee.property?.name !== 'map') return;
    const [callback] = node.arguments;
    const list = source.slice(node.callee.object.start, node.callee.object.end);
    if (callback?.params?.[0]?.type === 'Identifier' && LISTS.test(list))
      scopes.push({ name: callback.params[0].name, start: callback.start, end: callback.end });
  });
  return scopes;
}

/** The parts of an expression that become text as they are. */
function shownParts(node: Node): Node[] {
  switch (node?.type) {
    case 'ChainExpression':
    case 'ParenthesizedExpression':
    case 'TSNonNullExpression':
      return shownParts(node.expression);
    case 'LogicalExpression':
      return [...(node.operator === '&&' ? [] : shownParts(node.left)), ...shownParts(node.right)];
    case 'ConditionalExpression':
      return [...shownParts(node.consequent), ...shownParts(node.alternate)];
    case 'BinaryExpression':
      return node.operator === '+' ? [...shownParts(node.left), ...shownParts(node.right)] : [];
    case 'TemplateLiteral':
      return node.expressions.flatMap(shownParts);
    case 'ArrayExpression':
      return node.elements.flatMap(shownParts);
    case 'ObjectExpression':
      return node.properties.flatMap((each: Node) => shownParts(each.value));
    case 'CallExpression':
      return calledParts(node);
    case 'MemberExpression':
    case 'Identifier':
      return [node];
    default:
      return [];
  }
}

function calledParts({ callee, arguments: given }: Node): Node[] {
  if (callee.type === 'Identifier') return callee.name === 't' ? given.slice(1).flatMap(shownParts) : [];
  const method = callee.property?.name;
  if (method === 'join' || method === 'filter') return shownParts(callee.object);
  const [callback] = given;
  return method === 'map' && callback?.body ? shownParts(callback.body) : [];
}

function rawSentences(source: string): string[] {
  const tree = parseAst(source, { lang: 'tsx' });
  const scopes = sentenceParameters(tree, source);
  const raw = new Set<string>();
  const check = (value: Node) => {
    for (const part of shownParts(value)) {
      const isField = part.type === 'MemberExpression' && FIELDS.has(part.property.name);
      const isParameter = scopes.some(
        (each) => each.name === part.name && part.start > each.start && part.end < each.end,
      );
      if (isField || isParameter) raw.add(source.slice(part.start, part.end));
    }
  };
  visit(tree, (node) => {
    if (node.type === 'JSXElement' || node.type === 'JSXFragment')
      for (const child of node.children) if (child.type === 'JSXExpressionContainer') check(child.expression);
    if (node.type === 'JSXAttribute' && SHOWN.has(node.name.name)) check(node.value?.expression);
    const isNotification = node.type === 'CallExpression' && node.callee.object?.name === 'notifications';
    for (const each of isNotification ? (node.arguments[0]?.properties ?? []) : [])
      if (SHOWN.has(each.key?.name)) check(each.value);
  });
  return [...raw];
}

test.each([
  '<p>{problem.message}</p>',
  '<p>{problem?.message ?? a}</p>',
  "<p>{a !== '' && a + each.message}</p>",
  '<p title={node.message} />',
  "<p>{t('fit.unknown', { reason: asProblem(error).message })}</p>",
  '<ul>{data.notes.map((note) => <li key={note}>{note}</li>)}</ul>',
  '[a.unavailable, ...a.errors].filter((each) => each).map((each) => <p key={each}>{each}</p>)',
  "notifications.show({ message: done.map((each) => each.message).join(' ') })",
])('%s shows a sentence as it came', (source) => {
  expect(rawSentences(source)).not.toEqual([]);
});

test.each([
  '<p>{say(problem.message)}</p>',
  "<p>{queue.message !== '' && <Sentence text={queue.message} />}</p>",
  '<ul>{data.notes.map((note) => <li key={note}>{say(note)}</li>)}</ul>',
  "notifications.show({ message: done.map((each) => say(each.message)).join(' ') })",
])('%s does not', (source) => {
  expect(rawSentences(source)).toEqual([]);
});

test('no component shows a sentence of the server as it came', () => {
  const root = join(import.meta.dirname, '..');
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((each) => each.endsWith('.tsx'));
  const found = files.map((file) => [file, rawSentences(readFileSync(join(root, file), 'utf8'))] as const);
  expect(Object.fromEntries(found.filter(([, raw]) => raw.length > 0))).toEqual(QUOTED);
});

import { expect, test } from 'vitest';
import { draftOf, FROM, originKey, originOf, readDrafts, sourceOf, withDraft, withoutDraft } from './drafts';

const drafts = withDraft(withDraft({}, 'kind=mpijob', 'a', 1), 'from=default/tfjob/x', 'b', 2);

test('an address gets the draft that began with it, and no other', () => {
  expect(draftOf(drafts, { kind: 'mpijob' })?.text).toBe('a');
  expect(draftOf(drafts, { kind: 'tfjob' })).toBeNull();
  expect(draftOf(drafts, { from: 'default/tfjob/x' })?.text).toBe('b');
  expect(draftOf(drafts, { from: 'default/tfjob/y' })).toBeNull();
});

test('an address with nothing gets what was written last', () => {
  expect(draftOf(drafts, {})).toEqual({ key: 'from=default/tfjob/x', text: 'b' });
  expect(draftOf({}, {})).toBeNull();
});

test('a submitted draft is gone and the others stay', () => {
  expect(Object.keys(withoutDraft(drafts, 'kind=mpijob'))).toEqual(['from=default/tfjob/x']);
});

test('old drafts make room', () => {
  let many = {};
  for (let at = 0; at < 20; at++) many = withDraft(many, `kind=${at}`, 'x', at);
  expect(Object.keys(many)).toHaveLength(12);
  expect(many).toHaveProperty('kind=19');
});

test.each([{ kind: 'tfjob' }, { from: 'a/b/c' }, {}])('the key of %j names it', (origin) => {
  expect(originOf(originKey(origin))).toEqual(origin);
});

test.each([null, '', '7', '[]', '{"a": 1, "b": {"text": 7}}', '{"'])('%j in the storage is no draft', (stored) => {
  expect(readDrafts(stored)).toEqual({});
});

test('an address names a template or a job', () => {
  expect(sourceOf({ from: 'template:mpijob' })).toEqual({ template: 'mpijob' });
  expect(sourceOf({ from: 'job:a/tfjob/c' })).toEqual(sourceOf({ from: 'a/tfjob/c' }));
  expect(['template:a/b', 'a/b/c', 'job:a/b/c', 'file:a/b/c', 'a/b', ''].map((each) => FROM.test(each))).toEqual([
    true,
    true,
    true,
    false,
    false,
    false,
  ]);
});

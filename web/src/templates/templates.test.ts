import { expect, test } from 'vitest';
import type { Capabilities, KindInfo } from '../api/contract.gen';
import { parse } from '../wizard/manifest';
import { builtInTemplates } from './builtIn';
import { allTemplates, freeName, nameOfFile, readSaved } from './saved';

const kind = (name: string, versions: string[]): KindInfo => ({
  kind: name.toLowerCase(),
  kindName: name,
  apiVersions: versions,
  replicasField: 'x',
  roles: ['Worker'],
  installed: true,
  scalable: false,
});
const capabilities = {
  namespace: 'team-a',
  kinds: [
    kind('MPIJob', ['kubeflow.org/v1', 'kubeflow.org/v2beta1']),
    kind('TFJob', ['kubeflow.org/v1']),
    { ...kind('JAXJob', ['kubeflow.org/v1']), installed: false },
  ],
} as unknown as Capabilities;

test('there is one for each kind that is installed, both versions of MPIJob, and that of seed 004', () => {
  const found = builtInTemplates(capabilities);
  expect(found.map((each) => each.name)).toEqual(['tensorflow-benchmarks', 'mpijob', 'mpijob-v2beta1', 'tfjob']);
  for (const each of found) expect(parse(each.text).problems).toEqual([]);
});

test('a saved template comes before one of the same name that is built in', () => {
  const all = allTemplates(capabilities, { tfjob: 'kind: TFJob' });
  expect(all.filter((each) => each.name === 'tfjob')).toEqual([{ name: 'tfjob', text: 'kind: TFJob', builtIn: false }]);
});

test.each([null, '7', '[]', '{"a": 1}', '{"'])('%j in the storage is no template', (stored) => {
  expect(readSaved(stored)).toEqual({});
});

test('a second template of a name has a number', () => {
  expect(freeName('mnist', {})).toBe('mnist');
  expect(freeName('mnist', { mnist: '', 'mnist-2': '' })).toBe('mnist-3');
});

test('a template has the name of its file', () => {
  expect(['mnist.yaml', 'a.b.YML', 'x'].map(nameOfFile)).toEqual(['mnist', 'a.b', 'x']);
});

import { describe, expect, test } from 'vitest';
import type { KindInfo } from '../api/contract.gen';
import { isName, processCheck, totalOf, withoutSecondRunner } from './checks';
import { edited, parse } from './manifest';
import { containerPath, project, type RoleForm } from './projection';
import { numberOf, showNumber } from './quantities';
import { sharedBy } from './shared';
import { joinWords, splitWords } from './shellWords';
import { elasticLimits, starterText } from './starters';

const MPI: KindInfo = {
  kind: 'mpijob',
  kindName: 'MPIJob',
  apiVersions: ['kubeflow.org/v1', 'kubeflow.org/v2beta1'],
  replicasField: 'mpiReplicaSpecs',
  roles: ['Launcher', 'Worker'],
  installed: true,
  scalable: false,
};

const starter = () => starterText(MPI, 'kubeflow.org/v1', 'default');
const form = (text: string) => project(parse(text).document, [MPI]);

describe('the text is the only state', () => {
  test('comments, order and unknown keys stay', () => {
    const text = `# mine
apiVersion: kubeflow.org/v1
kind: MPIJob
metadata: {name: a} # short
spec:
  mpiReplicaSpecs:
    Worker:
      replicas: 2 # two
      template:
        spec:
          dnsConfig: {options: [{name: ndots, value: "1"}]}
          containers:
            - name: x
              image: y
`;
    const after = edited(text, [[['spec', 'mpiReplicaSpecs', 'Worker', 'replicas'], 4]]);
    expect(after).toContain('replicas: 4 # two');
    expect(after.replace('replicas: 4', 'replicas: 2').replaceAll(/[{} ]/g, '')).toBe(text.replaceAll(/[{} ]/g, ''));
  });

  test('an absent key is created and deleted again', () => {
    const path = ['metadata', 'annotations', 'traincrew.kubeflow.org/description'];
    const described = edited(starter(), [[path, 'benchmarks: MPI']]);
    expect(form(described).description).toBe('benchmarks: MPI');
    expect(form(edited(described, [[path, undefined]])).description).toBe('');
  });

  test('of several objects the form shows and changes the job alone', () => {
    const config = '# data\napiVersion: v1\nkind: ConfigMap\nmetadata: {name:   x}\n';
    const text = `${config}---\n${starter()}---\n`;
    expect(parse(text)).toMatchObject({ problems: [], others: 1 });
    expect(form(text).kindName).toBe('MPIJob');
    const after = edited(text, [[['metadata', 'name'], 'other']]);
    expect(form(after).name).toBe('other');
    expect(after.startsWith(`${config}---\n`)).toBe(true);
    expect(after.endsWith('\n---\n')).toBe(true);
    expect(edited(`${starter()}---\n${config}`, [[['metadata', 'name'], 'other']]).endsWith(`---\n${config}`)).toBe(
      true,
    );
  });

  test('broken text of any object has its line', () => {
    expect(parse(`${starter()}---\na: [\n`).problems[0]?.line).toBeGreaterThan(starter().split('\n').length);
  });

  test('broken text has its line', () => {
    expect(parse('a: 1\nb: [\nc: 2\n').problems[0]?.line).toBeGreaterThan(1);
  });

  test('values of other types do not break the form', () => {
    expect(form('kind: MPIJob\nmetadata: 7\nspec: {mpiReplicaSpecs: {Worker: [1]}}').roles[0]?.image).toBe('');
  });

  test('a long command stays on one line', () => {
    const words = splitWords(`mpirun ${'-x A=1 '.repeat(60)} python train.py`);
    const text = edited(starter(), [[[...containerPath(MPI, { name: 'Launcher', container: 0 }), 'command'], words]]);
    expect(form(text).roles[0]?.command).toEqual(words);
  });
});

const TF: KindInfo = {
  ...MPI,
  kind: 'tfjob',
  kindName: 'TFJob',
  apiVersions: ['kubeflow.org/v1'],
  replicasField: 'tfReplicaSpecs',
  roles: ['PS', 'Worker', 'Chief', 'Master', 'Evaluator'],
};

describe('one field for several roles', () => {
  const text = `kind: TFJob
spec:
  tfReplicaSpecs:
    Worker: {template: {spec: {containers: [{name: proxy, image: p}, {name: tensorflow, image: a}]}}}
    PS: {template: {spec: {containers: [{name: tensorflow, image: a}]}}}
    Evaluator: {template: {spec: {containers: [{name: tensorflow, image: other}]}}}
`;
  const roles = (of: string) => project(parse(of).document, [TF]).roles;

  const images = (of: string, names: readonly RoleForm[], value: string) =>
    edited(
      of,
      names.map((role) => [[...containerPath(TF, role), 'image'], value]),
    );

  test('changes those that agree and no other', () => {
    const [together, ...others] = sharedBy(roles(text), (role) => role.image);
    expect(together?.roles.map((role) => role.name)).toEqual(['Worker', 'PS']);
    expect(others.map((each) => each.role)).toEqual(['Evaluator']);
    const after = images(text, together?.roles ?? [], 'b');
    expect(roles(after).map((role) => role.image)).toEqual(['b', 'b', 'other']);
  });

  test('means the training container, wherever it is', () => {
    const pod = ['spec', 'tfReplicaSpecs', 'Worker', 'template', 'spec', 'containers'];
    const after = parse(images(text, roles(text).slice(0, 1), 'b')).document;
    expect([after.getIn([...pod, 0, 'image']), after.getIn([...pod, 1, 'image'])]).toEqual(['p', 'b']);
  });
});

describe('totals are computed', () => {
  test('seed: one launcher and two workers are three replicas', () => {
    const total = totalOf(form(starter()));
    expect(total).toMatchObject({ replicas: 3, sum: '1 Launcher + 2 Worker' });
    expect(Object.fromEntries(total.resources)).toEqual({ cpu: '6', memory: '12Gi' });
  });

  test('quantities', () => {
    expect(['100m', '2', '4Gi', '1k', '1.5', 'x', ''].map(numberOf)).toEqual([
      0.1,
      2,
      4 * 2 ** 30,
      1000,
      1.5,
      null,
      null,
    ]);
    expect(showNumber('memory', 1.5 * 2 ** 30)).toBe('1.5Gi');
  });
});

describe('MPI', () => {
  const launcher = (command: string[], args: string[]) => ({ command, args });

  test('-np is compared with the slots', () => {
    expect(processCheck(form(starter()))).toEqual({ processes: 2, slots: 2 });
    const text = edited(starter(), [[['spec', 'slotsPerWorker'], 4]]);
    expect(processCheck(form(text))).toEqual({ processes: 2, slots: 8 });
  });

  test('a doubled mpirun is noticed, as words and as one text', () => {
    expect(withoutSecondRunner(launcher(['mpirun'], ['mpirun', '-np', '2', 'python']))).toEqual(['-np', '2', 'python']);
    expect(withoutSecondRunner(launcher(['mpirun'], ['mpirun -np 2 \\\n python a.py']))).toEqual([
      '-np',
      '2',
      'python',
      'a.py',
    ]);
    expect(withoutSecondRunner(launcher(['mpirun'], ['-np', '2']))).toBeNull();
    expect(withoutSecondRunner(launcher(['bash', '-c'], ['mpirun -np 2']))).toBeNull();
  });
});

test.each([
  ['mpirun -np 2 \\\n  -x A=1', ['mpirun', '-np', '2', '-x', 'A=1']],
  ["python -c 'print(1)' \"a b\" c\\ d ''", ['python', '-c', 'print(1)', 'a b', 'c d', '']],
  ['  ', []],
])('%j is split as a shell does', (text, words) => {
  expect(splitWords(text)).toEqual(words);
  expect(splitWords(joinWords(words))).toEqual(words);
});

test('the limits of an elastic policy are those that the kind has', () => {
  expect(elasticLimits(MPI)).toEqual(['minReplicas', 'maxReplicas']);
  expect(elasticLimits({ ...MPI, kind: 'pytorchjob' })).toContain('maxRestarts');
  expect(elasticLimits(TF)).toEqual([]);
});

test('names', () => {
  expect(['a', 'my-job', 'A', '1a', 'a-', '', 'x'.repeat(64)].map(isName)).toEqual([
    true,
    true,
    false,
    false,
    false,
    false,
    false,
  ]);
});

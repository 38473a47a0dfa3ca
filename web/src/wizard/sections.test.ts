import { describe, expect, test } from 'vitest';
import { deviceRows, PRESETS, presetChanges, presetOf, setAmount } from './devices';
import { beforeStart, lacksStart, rolesWithOwnHook, setBeforeStart, setEnvironment } from './environments';
import { type Change, edited, parse } from './manifest';
import { form, MPI, role, starter } from './mpiManifest';
import { type Form, policyPath } from './projection';
import { readImages, withImages } from './recentImages';
import { readStart, withShell, writeStart } from './startCommand';
import { addVolume, changeVolume, removeVolume, setSharedMemory, sharedMemory, volumeRows } from './volumes';

const change = (text: string, changes: (form: Form) => readonly Change[]) => edited(text, changes(form(text)));

describe('what runs before the start command', () => {
  const installed = change(starter, (each) => setBeforeStart(MPI, each, { environment: '', install: 'pip install a' }));

  test('keeps the words of the start command', () => {
    const before = readStart(role(starter, 'Launcher'));
    expect(readStart(role(installed, 'Launcher'))).toEqual({ ...before, install: 'pip install a' });
    expect(role(installed, 'Launcher').command.slice(0, 4)).toEqual([
      'sh',
      '-c',
      'set -e\npip install a\nexec "$@"',
      'sh',
    ]);
  });

  test('runs on the workers of an MPIJob, too', () => {
    expect(role(installed, 'Worker').main.lifecycle).toEqual({
      postStart: { exec: { command: ['sh', '-c', 'set -e\npip install a'] } },
    });
  });

  test("leaves a worker's own postStart hook alone, and says so", () => {
    const path = ['spec', 'mpiReplicaSpecs', 'Worker', 'template', 'spec', 'containers', 0, 'lifecycle', 'postStart'];
    const hook = { exec: { command: ['sh', '-c', 'mount /data'] } };
    let text = edited(starter, [[path, hook]]);
    expect(rolesWithOwnHook(MPI, form(text))).toEqual([]);
    for (const install of ['p', 'pip', '']) {
      text = change(text, (each) => setBeforeStart(MPI, each, { environment: '', install }));
      expect(role(text, 'Worker').main.lifecycle).toEqual({ postStart: hook });
      expect(rolesWithOwnHook(MPI, form(text))).toEqual(install === '' ? [] : ['Worker']);
    }
    expect(rolesWithOwnHook(MPI, form(installed))).toEqual([]);
  });

  test('leaves nothing behind when it is removed', () => {
    const removed = change(installed, (each) => setBeforeStart(MPI, each, { environment: '', install: '' }));
    expect(parse(removed).document.toJS()).toEqual(parse(starter).document.toJS());
  });

  test('needs a start command', () => {
    expect(lacksStart(MPI, form(installed))).toBe(false);
    const bare = edited(installed, [
      [
        ['spec', 'mpiReplicaSpecs', 'Launcher', 'template', 'spec', 'containers', 0, 'command'],
        ['sh', '-c', 'set -e\na\nexec "$@"', 'sh'],
      ],
    ]);
    expect(lacksStart(MPI, form(bare))).toBe(true);
  });

  test('an environment of a volume is first in PATH', () => {
    const before = { environment: '/envs/my torch', install: 'pip list\npip check' };
    const text = change(starter, (each) => setBeforeStart(MPI, each, before));
    expect(beforeStart(MPI, form(text))).toEqual(before);
    expect(role(text, 'Launcher').command[2]).toContain(`export PATH='/envs/my torch'/bin:"$PATH"\n`);
  });

  test('an environment of this machine is an annotation of every pod', () => {
    const text = change(starter, (each) => setEnvironment(MPI, each, '/opt/tf'));
    expect(text.match(/traincrew.kubeflow.org\/environment: \/opt\/tf/g)).toHaveLength(2);
  });
});

describe('a command as a script', () => {
  test('and back as a program has the same words', () => {
    const program = readStart({ command: ['mpirun'], args: ['-np', '2', 'a b'] });
    const script = withShell(program, 'bash');
    expect(writeStart(script)).toEqual({ command: ['bash', '-c', "mpirun -np 2 'a b'"], args: undefined });
    expect(readStart({ command: ['bash', '-c', "mpirun -np 2 'a b'"], args: [] })).toEqual(script);
    expect(writeStart(withShell(script, ''))).toEqual({ command: ['mpirun', '-np', '2', 'a b'], args: undefined });
  });

  test('while it is typed, a program with a shell stays a program', () => {
    const typed = { command: ['bash', '-c', 'python'], args: [] };
    expect(readStart(typed, true)).toMatchObject({ shell: '', command: typed.command });
    expect(writeStart(readStart(typed, true)).command).toEqual(typed.command);
  });

  test('a script of another shell or with arguments is a program', () => {
    expect(readStart({ command: ['zsh', '-c', 'x'], args: [] }).shell).toBe('');
    expect(readStart({ command: ['sh', '-c', 'x'], args: ['y'] }).shell).toBe('');
  });
});

describe('volumes', () => {
  const worker = () => role(text, 'Worker');
  let text = starter;
  const apply = (changes: readonly Change[]) => {
    text = edited(text, changes);
  };

  test('are added, changed and removed with their mounts', () => {
    apply(addVolume(MPI, worker(), 'persistentVolumeClaim'));
    apply(addVolume(MPI, worker(), 'emptyDir'));
    expect(volumeRows(worker()).map((row) => [row.name, row.type, row.path])).toEqual([
      ['data', 'persistentVolumeClaim', '/data'],
      ['data-2', 'emptyDir', '/data-2'],
    ]);
    const [claim] = volumeRows(worker());
    if (!claim) throw new Error('no row');
    apply(changeVolume(MPI, worker(), claim, { source: 'mnist', path: '/mnt', readOnly: true }));
    expect(volumeRows(worker())[0]).toMatchObject({ source: 'mnist', path: '/mnt', readOnly: true });
    apply(setSharedMemory(MPI, worker(), '8Gi'));
    expect([sharedMemory(worker()), volumeRows(worker()).length]).toEqual(['8Gi', 2]);
    apply(setSharedMemory(MPI, worker(), ''));
    for (const row of volumeRows(worker()).reverse()) apply(removeVolume(MPI, worker(), row));
    expect(parse(text).document.toJS()).toEqual(parse(starter).document.toJS());
  });
});

test('only an emptyDir in memory is shared memory: a path that is typed through /dev/shm keeps its row', () => {
  let text = edited(starter, addVolume(MPI, role(starter, 'Worker'), 'hostPath'));
  for (const path of ['/dev/shm', '/dev/shm/cache']) {
    const [row] = volumeRows(role(text, 'Worker'));
    if (!row) throw new Error('no row');
    text = edited(text, changeVolume(MPI, role(text, 'Worker'), row, { path }));
    expect(volumeRows(role(text, 'Worker')).map((each) => each.path)).toEqual([path]);
    expect(sharedMemory(role(text, 'Worker'))).toBe('');
  }
});

describe('resources', () => {
  const worker = (of: string) => role(of, 'Worker');

  test("seed 004's share of a GPU", () => {
    let text = edited(starter, setAmount(MPI, worker(starter), 'nvidia.com/vgpu', '1'));
    text = edited(text, setAmount(MPI, worker(text), 'nvidia.com/gpumem', '1k'));
    expect(deviceRows(worker(text))).toEqual([
      ['nvidia.com/vgpu', '1'],
      ['nvidia.com/gpumem', '1k'],
    ]);
    expect(worker(text).requests).toEqual({ cpu: '2', memory: '4Gi' });
    expect(presetOf(worker(text))).toBe('2 CPU · 4Gi · 1 vGPU');
  });

  test('a preset replaces devices that it does not have', () => {
    const [small] = PRESETS;
    const gpu = edited(starter, setAmount(MPI, worker(starter), 'nvidia.com/gpu', '8'));
    const text = edited(gpu, presetChanges(MPI, worker(gpu), small ?? { name: '', quantities: {} }));
    expect([presetOf(worker(text)), deviceRows(worker(text))]).toEqual(['1 CPU · 2Gi', []]);
  });

  test('a limit that differs from its request stays', () => {
    const path = [
      'spec',
      'mpiReplicaSpecs',
      'Worker',
      'template',
      'spec',
      'containers',
      0,
      'resources',
      'limits',
      'cpu',
    ];
    const text = edited(starter, [[path, '4']]);
    const after = worker(edited(text, setAmount(MPI, worker(text), 'cpu', '3')));
    expect([after.requests.cpu, after.limits.cpu]).toEqual(['3', '4']);
  });
});

test('a policy is changed where it is', () => {
  expect(policyPath(form('kind: MPIJob\nspec: {backoffLimit: 1}'), 'backoffLimit')).toEqual(['spec', 'backoffLimit']);
  expect(policyPath(form(starter), 'backoffLimit')).toEqual(['spec', 'runPolicy', 'backoffLimit']);
});

test('images are remembered, the latest first', () => {
  expect(withImages(['a', 'b'], ['b', 'c', ''])).toEqual(['b', 'c', 'a']);
  expect(['7', '{"', '["x", 1]', null].map(readImages)).toEqual([[], [], ['x'], []]);
});

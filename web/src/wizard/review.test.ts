import { describe, expect, test } from 'vitest';
import { commandOf } from './commands';
import { environmentClaim, setEnvironmentClaim } from './environmentClaims';
import { edited } from './manifest';
import { form, MPI, role, starter } from './mpiManifest';
import { shrunk } from './shrink';

describe('the same as a command', () => {
  test('of this machine', () => {
    const cluster = { mode: 'embedded' as const, context: '' };
    expect(commandOf('traincrew', cluster, '', 'a: 1\n')).toBe("traincrew run - <<'EOF'\na: 1\nEOF\n");
    expect(commandOf('kubectl', cluster, '', 'a: 1')).toBe(
      'kubectl --kubeconfig "$(traincrew kubeconfig)" create -f - <<\'EOF\'\na: 1\nEOF\n',
    );
  });

  test('of a context, with a namespace that the manifest lacks', () => {
    const cluster = { mode: 'cluster' as const, context: 'my cluster' };
    expect(commandOf('traincrew', cluster, 'team-a', 'a: 1\n')).toBe(
      "traincrew run --context 'my cluster' -n team-a - <<'EOF'\na: 1\nEOF\n",
    );
    expect(commandOf('kubectl', cluster, 'team-a', 'a: 1\n').split('\n')[0]).toBe(
      "kubectl --context 'my cluster' -n team-a create -f - <<'EOF'",
    );
  });

  test('a manifest with the word that ends it', () => {
    const cluster = { mode: 'cluster' as const, context: '' };
    expect(commandOf('kubectl', cluster, '', 'a: |\nEOF\n')).toContain("<<'EOF_'\na: |\nEOF\nEOF_\n");
  });
});

describe('small enough for this machine', () => {
  const large = edited(starter, [
    [['spec', 'mpiReplicaSpecs', 'Worker', 'replicas'], 16],
    [
      ['spec', 'mpiReplicaSpecs', 'Worker', 'template', 'spec', 'containers', 0, 'resources', 'limits'],
      { cpu: '16', memory: '64Gi', 'nvidia.com/gpu': '8' },
    ],
    [['spec', 'mpiReplicaSpecs', 'Worker', 'template', 'spec', 'nodeSelector'], { pool: 'gpu' }],
    [['spec', 'mpiReplicaSpecs', 'Launcher', 'template', 'spec', 'containers', 0, 'command', 3], '16'],
    [['metadata', 'labels'], { 'kueue.x-k8s.io/queue-name': 'team-a' }],
  ]);

  test('replicas, resources, devices, placement, queue and -np', () => {
    const small = edited(large, shrunk(MPI, form(large), { cpu: '6', memory: '12Gi' }));
    const worker = role(small, 'Worker');
    expect(worker.replicas).toBe(2);
    expect(worker.limits).toEqual({ cpu: '2000m', memory: '4096Mi' });
    expect(worker.requests).toEqual({ cpu: '2', memory: '4Gi' });
    expect(worker.pod.nodeSelector).toBeUndefined();
    expect(role(small, 'Launcher').command.slice(0, 4)).toEqual(['mpirun', '--allow-run-as-root', '-np', '2']);
    expect(form(small).labels).toEqual({});
  });

  test('of a machine that is not known: nothing is requested', () => {
    const small = edited(large, shrunk(MPI, form(large), null));
    expect(role(small, 'Worker').limits).toEqual({});
    expect(role(small, 'Launcher').requests).toEqual({});
  });

  test('a job that is small enough is not changed', () => {
    expect(shrunk(MPI, form(starter), { cpu: '8', memory: '16Gi' })).toEqual([]);
  });
});

test('a volume claim with environments is mounted once, changed and removed', () => {
  const once = edited(starter, setEnvironmentClaim(MPI, form(starter), 'envs'));
  expect(environmentClaim(form(once))).toBe('envs');
  const again = edited(once, setEnvironmentClaim(MPI, form(once), 'other'));
  expect(environmentClaim(form(again))).toBe('other');
  expect(role(again, 'Worker').main.volumeMounts).toEqual([
    { name: 'environments', mountPath: '/environments', readOnly: true },
  ]);
  const gone = edited(again, setEnvironmentClaim(MPI, form(again), null));
  expect(role(gone, 'Worker').pod.volumes).toBeUndefined();
  expect(environmentClaim(form(gone))).toBeNull();
});

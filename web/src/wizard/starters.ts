// The first text of the wizard for each kind.

import type { KindInfo } from '../api/contract.gen';

interface Starter {
  /** The operators find the container of the training program by this name. */
  readonly container: string;
  readonly image: string;
  readonly roles: readonly (readonly [role: string, replicas: number])[];
  readonly command: readonly string[];
}

const PYTHON = ['python', 'train.py'];
const STARTERS: Record<string, Starter> = {
  mpijob: {
    container: 'mpi',
    image: 'mpioperator/tensorflow-benchmarks:latest',
    roles: [
      ['Launcher', 1],
      ['Worker', 2],
    ],
    command: ['mpirun', '--allow-run-as-root', '-np', '2', '-bind-to', 'none', '-map-by', 'slot', 'python', 'train.py'],
  },
  tfjob: { container: 'tensorflow', image: 'tensorflow/tensorflow:2.18.0', roles: [['Worker', 2]], command: PYTHON },
  pytorchjob: {
    container: 'pytorch',
    image: 'pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime',
    roles: [
      ['Master', 1],
      ['Worker', 2],
    ],
    command: PYTHON,
  },
  xgboostjob: {
    container: 'xgboost',
    image: 'python:3.11',
    roles: [
      ['Master', 1],
      ['Worker', 2],
    ],
    command: PYTHON,
  },
  paddlejob: { container: 'paddle', image: 'paddlepaddle/paddle:2.6.2', roles: [['Worker', 2]], command: PYTHON },
  jaxjob: { container: 'jax', image: 'python:3.11', roles: [['Worker', 2]], command: PYTHON },
};

const DEFAULT_KIND = 'mpijob';

export { DEFAULT_KIND };

export function hasStarter(kind: KindInfo): boolean {
  return kind.kind in STARTERS;
}

/** The operators find the training program in the container of this name; in an MPIJob it is the first container. */
export function trainingContainer(kind: KindInfo | undefined): string {
  return kind && kind.kind !== 'mpijob' ? (STARTERS[kind.kind]?.container ?? '') : '';
}

/** The worker of an MPI job waits for the launcher; it needs no command. */
export function rolesWithCommand(kind: KindInfo): readonly string[] {
  return kind.kind === 'mpijob' ? ['Launcher'] : kind.roles;
}

const LIMITS = ['minReplicas', 'maxReplicas', 'maxRestarts'] as const;
type Limit = (typeof LIMITS)[number];
const ELASTIC: Readonly<Record<string, readonly Limit[]>> = {
  pytorchjob: LIMITS,
  paddlejob: LIMITS,
  // Horovod has its own limit of restarts, in the command of the launcher.
  mpijob: ['minReplicas', 'maxReplicas'],
};

/** The fields of `spec.elasticPolicy` that the kind has. */
export function elasticLimits(kind: KindInfo): readonly Limit[] {
  return ELASTIC[kind.kind] ?? [];
}

export function starterText(kind: KindInfo, apiVersion: string, namespace: string): string {
  const starter = STARTERS[kind.kind];
  if (!starter) return '';
  const lines = [
    `apiVersion: ${apiVersion}`,
    `kind: ${kind.kindName}`,
    'metadata:',
    '  name: my-job',
    `  namespace: ${namespace}`,
    'spec:',
  ];
  if (kind.kind === 'mpijob') lines.push('  slotsPerWorker: 1');
  lines.push('  runPolicy:', '    cleanPodPolicy: Running', `  ${kind.replicasField}:`);
  for (const [role, replicas] of starter.roles) lines.push(...roleLines(kind, starter, role, replicas));
  return `${lines.join('\n')}\n`;
}

function roleLines(kind: KindInfo, starter: Starter, role: string, replicas: number): string[] {
  const command = rolesWithCommand(kind).includes(role)
    ? [`              command: ${JSON.stringify(starter.command).replaceAll('","', '", "')}`]
    : [];
  return [
    `    ${role}:`,
    `      replicas: ${replicas}`,
    '      template:',
    '        spec:',
    '          containers:',
    `            - name: ${starter.container}`,
    `              image: ${starter.image}`,
    ...command,
    '              resources:',
    '                requests: {cpu: "2", memory: 4Gi}',
    '                limits: {cpu: "2", memory: 4Gi}',
  ];
}

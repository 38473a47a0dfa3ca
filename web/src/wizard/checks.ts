// What can be computed or noticed before a job is submitted. Pure.

import type { Form, RoleForm } from './projection';
import { numberOf, showNumber } from './quantities';
import { splitWords } from './shellWords';

export interface Total {
  readonly replicas: number;
  readonly sum: string;
  readonly resources: readonly (readonly [string, string])[];
}

/** Replicas and requests of all roles together. Limits count where there is no request, as in Kubernetes. */
export function totalOf(form: Form): Total {
  const resources = new Map<string, number>();
  for (const role of form.roles)
    for (const [name, quantity] of Object.entries({ ...role.limits, ...role.requests })) {
      const each = numberOf(quantity);
      if (each !== null) resources.set(name, (resources.get(name) ?? 0) + each * role.replicas);
    }
  return {
    replicas: form.roles.reduce((sum, role) => sum + role.replicas, 0),
    sum: form.roles.map((role) => `${role.replicas} ${role.name}`).join(' + '),
    resources: [...resources].map(([name, value]) => [name, showNumber(name, value)] as const),
  };
}

const RUNNERS = ['mpirun', 'mpiexec', 'horovodrun'];
const COUNTS = ['-np', '-n', '--np', '-c'];

export function programOf(word: string | undefined): string {
  return word?.split('/').at(-1) ?? '';
}

/** The number of processes that the command line of an MPI launcher asks for. */
export function processesOf(role: Pick<RoleForm, 'args' | 'command'>): number | null {
  const words = [...role.command, ...role.args].flatMap((each) => (/\s/.test(each) ? splitWords(each) : [each]));
  if (!words.some((each) => RUNNERS.includes(programOf(each)))) return null;
  const at = words.findIndex((each) => COUNTS.includes(each));
  const count = at < 0 ? Number.NaN : Number(words[at + 1]);
  return Number.isInteger(count) ? count : null;
}

export interface ProcessCheck {
  readonly processes: number;
  readonly slots: number;
}

export function processCheck(form: Form): ProcessCheck | null {
  const launcher = form.roles.find((role) => role.name === 'Launcher');
  const worker = form.roles.find((role) => role.name === 'Worker');
  const processes = launcher ? processesOf(launcher) : null;
  return processes === null ? null : { processes, slots: (worker?.replicas ?? 0) * form.slotsPerWorker };
}

/** The same runner at the beginning of the command and of the arguments: the arguments without it, or null if there is nothing to do. */
export function withoutSecondRunner(role: Pick<RoleForm, 'args' | 'command'>): string[] | null {
  const args =
    role.args.length === 1 && /\s/.test(role.args[0] ?? '') ? splitWords(role.args[0] ?? '') : [...role.args];
  const first = programOf(role.command[0]);
  if (role.command.length !== 1 || !RUNNERS.includes(first) || programOf(args[0]) !== first) return null;
  return args.slice(1);
}

export const NAME = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;

export function isName(name: string): boolean {
  return name.length <= 63 && NAME.test(name);
}

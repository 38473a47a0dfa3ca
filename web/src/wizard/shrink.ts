// The same job, small enough for one machine: to try it before the cluster runs it. Pure.

import type { KindInfo } from '../api/contract.gen';
import { processesOf } from './checks';
import { ORDINARY } from './devices';
import type { Change } from './manifest';
import { containerPath, type Form, podPath, type RoleForm, rolePath, tree } from './projection';
import { numberOf } from './quantities';
import { withoutQueue } from './queues';
import { readStart, writeStart } from './startCommand';

/** What the machine has. Null: it is not known; requests are then left out. */
export type Capacity = Readonly<Record<string, string>> | null;

/** Two replicas of a role still talk to each other. */
const MOST = 2;
const WORKER = 'Worker';
const LAUNCHER = 'Launcher';
/** Fields of pods that speak of the nodes of a cluster. */
const PLACEMENT = ['nodeSelector', 'affinity', 'topologySpreadConstraints', 'schedulerName', 'priorityClassName'];

export function shrunk(kind: KindInfo, form: Form, capacity: Capacity): Change[] {
  const counts = form.roles.map((role) => Math.min(role.replicas, MOST));
  const total = counts.reduce((sum, each) => sum + each, 0);
  const changes = form.roles.flatMap((role, index): Change[] => [
    ...(counts[index] === role.replicas ? [] : [[[...rolePath(kind, role), 'replicas'], counts[index]] as const]),
    ...placement(kind, role),
    ...resources(kind, role, capacity, total),
  ]);
  return [...changes, ...processes(kind, form), ...elastic(form), ...withoutQueue(form)];
}

function placement(kind: KindInfo, role: RoleForm): Change[] {
  return PLACEMENT.filter((name) => role.pod[name] !== undefined).map((name) => [
    [...podPath(kind, role), name],
    undefined,
  ]);
}

/** Each replica gets at most its share of the machine; devices that the machine does not have are left out. */
function resources(kind: KindInfo, role: RoleForm, capacity: Capacity, total: number): Change[] {
  const path = [...containerPath(kind, role), 'resources'];
  const lists = [
    ['requests', role.requests],
    ['limits', role.limits],
  ] as const;
  return lists.flatMap(([list, amounts]) =>
    Object.entries(amounts).flatMap(([name, quantity]): Change[] => {
      const share = shareOf(name, capacity, total);
      const asked = numberOf(quantity) ?? 0;
      if (share !== null && asked <= share) return [];
      const whole = share === null || !ORDINARY.includes(name) ? undefined : quantityOf(name, share);
      return [[[...path, list, name], whole]];
    }),
  );
}

/** Null: the machine does not have it, or it is not known what it has. */
function shareOf(name: string, capacity: Capacity, total: number): number | null {
  const has = capacity === null ? null : numberOf(capacity[name]);
  return has === null || has === 0 ? null : has / Math.max(total, 1);
}

const MEBI = 2 ** 20;

function quantityOf(name: string, amount: number): string {
  return name === 'cpu' ? `${Math.floor(amount * 1000)}m` : `${Math.floor(amount / MEBI)}Mi`;
}

/** `-np` follows the slots. */
function processes(kind: KindInfo, form: Form): Change[] {
  const launcher = form.roles.find((role) => role.name === LAUNCHER);
  const worker = form.roles.find((role) => role.name === WORKER);
  const asked = launcher ? processesOf(launcher) : null;
  if (!launcher || !worker || asked === null) return [];
  const slots = Math.min(worker.replicas, MOST) * form.slotsPerWorker;
  if (asked <= slots) return [];
  const start = readStart(launcher);
  const { command, args } = writeStart({
    ...start,
    command: withCount(start.command, slots),
    args: withCount(start.args, slots),
    script: start.script.replace(COUNT_IN_TEXT, `$1${slots}`),
  });
  return [
    [[...containerPath(kind, launcher), 'command'], command],
    [[...containerPath(kind, launcher), 'args'], args],
  ];
}

const COUNTS = ['-np', '-n', '--np'];
const COUNT_IN_TEXT = /(\s(?:-np|-n|--np)\s+)\d+/;

function withCount(words: readonly string[], count: number): string[] {
  const at = words.findIndex((each) => COUNTS.includes(each));
  if (at >= 0) return words.map((each, index) => (index === at + 1 ? String(count) : each));
  return words.map((each) => (/\s/.test(each) ? each.replace(COUNT_IN_TEXT, `$1${count}`) : each));
}

function elastic(form: Form): Change[] {
  const policy = tree(form.spec.elasticPolicy);
  return ['minReplicas', 'maxReplicas'].flatMap((name): Change[] =>
    Number(policy[name] ?? 0) > MOST ? [[['spec', 'elasticPolicy', name], MOST]] : [],
  );
}

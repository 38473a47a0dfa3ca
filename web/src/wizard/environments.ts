// What runs before the start command, in every role that needs it. Pure.

import type { KindInfo } from '../api/contract.gen';
import type { Change } from './manifest';
import { containerPath, type Form, type RoleForm, rolePath, type Tree, text, tree } from './projection';
import { preparation, readStart, type StartCommand, writeStart } from './startCommand';
import { rolesWithCommand } from './starters';

/** On one machine the node puts this environment first in PATH, also for programs that mpirun starts on workers. */
export const ENVIRONMENT = 'traincrew.kubeflow.org/environment';

type Before = Pick<StartCommand, 'environment' | 'install'>;

export function environmentOf(role: RoleForm): string {
  return text(tree(tree(role.template.metadata).annotations)[ENVIRONMENT]);
}

export function setEnvironment(kind: KindInfo, form: Form, directory: string): Change[] {
  return form.roles.map((role) => [
    [...rolePath(kind, role), 'template', 'metadata', 'annotations', ENVIRONMENT],
    directory === '' ? undefined : directory,
  ]);
}

function commanded(kind: KindInfo, form: Form): RoleForm[] {
  return form.roles.filter((role) => rolesWithCommand(kind).includes(role.name));
}

export function beforeStart(kind: KindInfo, form: Form): Before {
  const first = commanded(kind, form)[0];
  const { environment, install } = readStart(first ?? { command: [], args: [] });
  return { environment, install };
}

/** Roles without a start command of their own, the workers of an MPIJob, run it before they count as started. */
export function setBeforeStart(kind: KindInfo, form: Form, before: Before): Change[] {
  const script = preparation(before);
  const earlier = preparation(beforeStart(kind, form));
  return form.roles.flatMap((role): Change[] => {
    const path = containerPath(kind, role);
    if (rolesWithCommand(kind).includes(role.name)) {
      const { command, args } = writeStart({ ...readStart(role), ...before });
      return [
        [[...path, 'command'], command],
        [[...path, 'args'], args],
      ];
    }
    return hasOwnHook(role, earlier) ? [] : [[[...path, 'lifecycle', 'postStart'], hookOf(script)]];
  });
}

function hookOf(script: string): Tree | undefined {
  return script === '' ? undefined : { exec: { command: ['sh', '-c', `set -e\n${script}`] } };
}

function hasOwnHook(role: RoleForm, earlier: string): boolean {
  const { postStart } = tree(role.main.lifecycle);
  return postStart !== undefined && JSON.stringify(postStart) !== JSON.stringify(hookOf(earlier));
}

/** The roles with a postStart hook that the form has not written, which it leaves alone: there, nothing runs before the start. */
export function rolesWithOwnHook(kind: KindInfo, form: Form): string[] {
  const script = preparation(beforeStart(kind, form));
  const others = form.roles.filter((role) => !rolesWithCommand(kind).includes(role.name));
  return script === '' ? [] : others.filter((role) => hasOwnHook(role, script)).map((role) => role.name);
}

/** The command that installs replaces the entrypoint of the image, so there must be a start command. */
export function lacksStart(kind: KindInfo, form: Form): boolean {
  const roles = commanded(kind, form).map((role) => readStart(role));
  return roles.some(
    (start) => preparation(start) !== '' && start.shell === '' && start.command.length + start.args.length === 0,
  );
}

// A volume claim that contains runtime environments, mounted in every role. Pure.

import type { KindInfo } from '../api/contract.gen';
import type { Change } from './manifest';
import { containerPath, type Form, podPath, type RoleForm, text, tree, trees } from './projection';

export const ENVIRONMENT_MOUNT = '/environments';
const NAME = 'environments';

function placeIn(items: readonly Readonly<Record<string, unknown>>[]): number {
  const found = items.findIndex((each) => each.name === NAME);
  return found < 0 ? items.length : found;
}

export function environmentClaim(form: Form): string | null {
  const volumes = form.roles.flatMap((role) => trees(role.pod.volumes)).filter((each) => each.name === NAME);
  return text(tree(volumes[0]?.persistentVolumeClaim).claimName) || null;
}

/** Null removes it. */
export function setEnvironmentClaim(kind: KindInfo, form: Form, claim: string | null): Change[] {
  return form.roles.flatMap((role) => changes(kind, role, claim));
}

function changes(kind: KindInfo, role: RoleForm, claim: string | null): Change[] {
  const volumes = trees(role.pod.volumes);
  const mounts = trees(role.main.volumeMounts);
  const volume = { name: NAME, persistentVolumeClaim: { claimName: claim, readOnly: true } };
  const mount = { name: NAME, mountPath: ENVIRONMENT_MOUNT, readOnly: true };
  return [
    [[...containerPath(kind, role), 'volumeMounts', placeIn(mounts)], claim === null ? undefined : mount],
    [[...podPath(kind, role), 'volumes', placeIn(volumes)], claim === null ? undefined : volume],
  ];
}

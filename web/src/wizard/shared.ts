// One field for several roles: it changes those that agree, and never overwrites one that differs. Pure.

import type { KindInfo } from '../api/contract.gen';
import { containerPath, type Path, type RoleForm } from './manifest';

export interface Shared {
  readonly first: RoleForm;
  /** The first role and all that have the same value. */
  readonly same: readonly RoleForm[];
  /** Roles with another value, each of which needs a field of its own. */
  readonly others: readonly RoleForm[];
}

export function sharedBy(roles: readonly RoleForm[], pick: (role: RoleForm) => unknown): Shared | null {
  const first = roles[0];
  if (!first) return null;
  const value = JSON.stringify(pick(first));
  const agrees = (role: RoleForm) => JSON.stringify(pick(role)) === value;
  return { first, same: roles.filter(agrees), others: roles.filter((role) => !agrees(role)) };
}

/** The same key of the training container of each role. */
export function containerChanges(
  kind: KindInfo,
  roles: readonly RoleForm[],
  key: string,
  value: unknown,
): (readonly [Path, unknown])[] {
  return roles.map((role) => [[...containerPath(kind, role), key], value] as const);
}

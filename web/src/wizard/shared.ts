// One field for several roles: it changes those that agree, and never overwrites one that differs. Pure.

import type { RoleForm } from './projection';

export interface Shared {
  /** Empty: the roles that agree with the first. Else the one role that differs. */
  readonly role: string;
  readonly first: RoleForm;
  readonly roles: readonly RoleForm[];
}

/** The roles that agree with the first one together, and each that differs by itself. */
export function sharedBy(roles: readonly RoleForm[], pick: (role: RoleForm) => unknown): Shared[] {
  const [first] = roles;
  if (!first) return [];
  const value = JSON.stringify(pick(first));
  const agrees = (role: RoleForm) => JSON.stringify(pick(role)) === value;
  return [
    { role: '', first, roles: roles.filter(agrees) },
    ...roles.filter((role) => !agrees(role)).map((role) => ({ role: role.name, first: role, roles: [role] })),
  ];
}

import type { TFunction } from 'i18next';
import type { Capabilities, KindInfo } from '../../api/contract.gen';
import type { Change, Path } from '../manifest';
import type { Form, RoleForm } from '../projection';
import type { Shared } from '../shared';

export type Edit = (...changes: Change[]) => void;

/** What every part of the form gets: what the YAML says, and how to change it. */
export interface SectionProps {
  readonly form: Form;
  readonly kind: KindInfo;
  readonly capabilities: Capabilities;
  readonly disabled: boolean;
  /** What the API server says about a field. */
  readonly errorAt: (path: Path) => string | undefined;
  readonly edit: Edit;
}

export interface RoleProps extends SectionProps {
  readonly role: RoleForm;
}

export function forRoles(roles: readonly RoleForm[], changes: (role: RoleForm) => readonly Change[]): Change[] {
  return roles.flatMap(changes);
}

/** `Image`, or `Image (Worker)` for a role that differs from the others. */
export function labelOf(t: TFunction, label: string, shared: Shared): string {
  return shared.role === '' ? label : t('wizard.ofRole', { field: label, role: shared.role });
}

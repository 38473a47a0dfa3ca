import { Alert, Button, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { withoutSecondRunner } from '../checks';
import { containerPath, type RoleForm } from '../manifest';
import { containerChanges, sharedBy } from '../shared';
import { rolesWithCommand } from '../starters';
import { Words } from '../Words';
import type { SectionProps } from './section';

/** What runs: image, command and arguments. Roles that differ have fields of their own. */
export function CommandSection(props: SectionProps) {
  const { t } = useTranslation();
  const { form, kind, disabled, edit } = props;
  const commanded = form.roles.filter((role) => rolesWithCommand(kind).includes(role.name));
  return (
    <>
      <h2 className="card-title">{t('wizard.command')}</h2>
      <ImageFields {...props} />
      <WordFields {...props} roles={commanded} name="command" label={t('wizard.startCommand')} />
      <WordFields {...props} roles={commanded} name="args" label={t('wizard.arguments')} />
      {commanded.map((role) => (
        <DoubledRunner
          key={role.name}
          args={withoutSecondRunner(role)}
          disabled={disabled}
          fix={(args) => edit(...containerChanges(kind, [role], 'args', args))}
        />
      ))}
    </>
  );
}

function ImageFields({ form, kind, disabled, errorAt, edit }: SectionProps) {
  const { t } = useTranslation();
  const shared = sharedBy(form.roles, (role) => role.image);
  const field = (role: RoleForm | undefined, roles: readonly RoleForm[], label: string) => (
    <TextInput
      key={label}
      label={label}
      required
      value={role?.image ?? ''}
      disabled={disabled || !role}
      error={role && errorAt([...containerPath(kind, role), 'image'])}
      onChange={(event) => edit(...containerChanges(kind, roles, 'image', event.currentTarget.value))}
    />
  );
  return (
    <>
      {field(shared?.first, shared?.same ?? [], t('replica.image'))}
      {shared?.others.map((role) =>
        field(role, [role], t('wizard.ofRole', { field: t('replica.image'), role: role.name })),
      )}
    </>
  );
}

interface WordProps extends SectionProps {
  readonly roles: readonly RoleForm[];
  readonly name: 'command' | 'args';
  readonly label: string;
}

function WordFields({ kind, disabled, errorAt, edit, roles, name, label }: WordProps) {
  const { t } = useTranslation();
  const shared = sharedBy(roles, (role) => role[name]);
  const field = (role: RoleForm | undefined, changed: readonly RoleForm[], title: string) => (
    <Words
      key={title}
      label={title}
      words={role?.[name] ?? []}
      disabled={disabled || !role}
      error={role && errorAt([...containerPath(kind, role), name])}
      onChange={(words) => edit(...containerChanges(kind, changed, name, words.length > 0 ? words : undefined))}
    />
  );
  return (
    <>
      {field(shared?.first, shared?.same ?? [], label)}
      {shared?.others.map((role) => field(role, [role], t('wizard.ofRole', { field: label, role: role.name })))}
    </>
  );
}

interface DoubledProps {
  readonly args: string[] | null;
  readonly disabled: boolean;
  readonly fix: (args: string[]) => void;
}

function DoubledRunner({ args, disabled, fix }: DoubledProps) {
  const { t } = useTranslation();
  if (args === null) return null;
  return (
    <Alert color="yellow" title={t('wizard.doubled')}>
      <Button size="xs" disabled={disabled} onClick={() => fix(args)}>
        {t('wizard.doubledFix')}
      </Button>
    </Alert>
  );
}

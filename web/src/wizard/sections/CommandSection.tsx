import { Alert, Autocomplete, Button, SegmentedControl, Select, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { withoutSecondRunner } from '../checks';
import type { Change } from '../manifest';
import { containerPath, type RoleForm, text } from '../projection';
import { recentImages } from '../recentImages';
import { type Shared, sharedBy } from '../shared';
import { readStart, type Shell, type StartCommand, withShell, writeStart } from '../startCommand';
import { rolesWithCommand } from '../starters';
import { Words } from '../Words';
import { forRoles, labelOf, type SectionProps } from './section';

const PULL = ['Always', 'IfNotPresent', 'Never'];

/** What runs: image, command and arguments. Roles that differ have fields of their own. */
export function CommandSection(props: SectionProps) {
  const { t } = useTranslation();
  const { form, kind } = props;
  const commanded = form.roles.filter((role) => rolesWithCommand(kind).includes(role.name));
  return (
    <>
      <h2 className="card-title">{t('wizard.command')}</h2>
      {sharedBy(form.roles, (role) => role.image).map((shared) => (
        <ImageField key={shared.role} {...props} shared={shared} />
      ))}
      {sharedBy(commanded, (role) => [role.command, role.args]).map((shared) => (
        <StartFields key={shared.role} {...props} shared={shared} />
      ))}
      <div className="form-row">
        {sharedBy(commanded, (role) => role.main.workingDir).map((shared) => (
          <ContainerText
            key={shared.role}
            {...props}
            shared={shared}
            name="workingDir"
            label={t('replica.workingDir')}
          />
        ))}
        {sharedBy(form.roles, (role) => role.main.imagePullPolicy).map((shared) => (
          <PullPolicy key={shared.role} {...props} shared={shared} />
        ))}
      </div>
    </>
  );
}

interface SharedProps extends SectionProps {
  readonly shared: Shared;
}

export function setContainer({ kind }: SectionProps, shared: Shared, key: string, value: unknown): Change[] {
  return forRoles(shared.roles, (role) => [[[...containerPath(kind, role), key], value]]);
}

function ImageField(props: SharedProps) {
  const { t } = useTranslation();
  const { shared, kind, disabled, errorAt, edit } = props;
  return (
    <Autocomplete
      label={labelOf(t, t('replica.image'), shared)}
      required
      value={shared.first.image}
      data={recentImages()}
      disabled={disabled}
      error={errorAt([...containerPath(kind, shared.first), 'image'])}
      onChange={(value) => edit(...setContainer(props, shared, 'image', value))}
    />
  );
}

interface TextProps extends SharedProps {
  readonly name: string;
  readonly label: string;
}

function ContainerText(props: TextProps) {
  const { t } = useTranslation();
  const { shared, kind, disabled, errorAt, edit, name, label } = props;
  return (
    <TextInput
      label={labelOf(t, label, shared)}
      value={text(shared.first.main[name])}
      disabled={disabled}
      error={errorAt([...containerPath(kind, shared.first), name])}
      onChange={(event) => edit(...setContainer(props, shared, name, event.currentTarget.value || undefined))}
    />
  );
}

function PullPolicy(props: SharedProps) {
  const { t } = useTranslation();
  const { shared, disabled, edit } = props;
  return (
    <Select
      label={labelOf(t, t('wizard.pullPolicy'), shared)}
      placeholder={t('wizard.default')}
      clearable
      data={PULL}
      value={text(shared.first.main.imagePullPolicy) || null}
      disabled={disabled}
      onChange={(value) => edit(...setContainer(props, shared, 'imagePullPolicy', value ?? undefined))}
    />
  );
}

/** The changes that give roles another start command. */
export function startChanges(props: SectionProps, roles: readonly RoleForm[], start: StartCommand): Change[] {
  const { command, args } = writeStart(start);
  return forRoles(roles, (role) => [
    [[...containerPath(props.kind, role), 'command'], command],
    [[...containerPath(props.kind, role), 'args'], args],
  ]);
}

function StartFields(props: SharedProps) {
  const { t } = useTranslation();
  const { shared, kind, disabled, errorAt, edit } = props;
  // `bash -c '…'` becomes a script when the field is left: while it is typed, the field must not be replaced by another.
  const [typing, setTyping] = useState(false);
  const start = readStart(shared.first, typing);
  const set = (part: Partial<StartCommand>) => edit(...startChanges(props, shared.roles, { ...start, ...part }));
  const label = labelOf(t, t('wizard.startCommand'), shared);
  const error = errorAt([...containerPath(kind, shared.first), 'command']);
  return (
    <>
      <SegmentedControl
        size="xs"
        aria-label={labelOf(t, t('wizard.shell'), shared)}
        disabled={disabled}
        value={start.shell}
        onChange={(value) => edit(...startChanges(props, shared.roles, withShell(start, value as Shell)))}
        data={[
          { value: '', label: t('wizard.program') },
          { value: 'sh', label: t('wizard.script', { shell: 'sh' }) },
          { value: 'bash', label: t('wizard.script', { shell: 'bash' }) },
        ]}
      />
      {start.shell === '' ? (
        <>
          <Words
            label={label}
            words={start.command}
            disabled={disabled}
            error={error}
            onChange={(command) => set({ command })}
            onFocus={() => setTyping(true)}
            onBlur={() => setTyping(false)}
          />
          <Words
            label={labelOf(t, t('wizard.arguments'), shared)}
            words={start.args}
            disabled={disabled}
            error={errorAt([...containerPath(kind, shared.first), 'args'])}
            onChange={(args) => set({ args })}
          />
          <DoubledRunner args={withoutSecondRunner(start)} disabled={disabled} fix={(args) => set({ args })} />
        </>
      ) : (
        <Textarea
          label={label}
          value={start.script}
          disabled={disabled}
          error={error}
          autosize
          minRows={2}
          maxRows={14}
          classNames={{ input: 'mono' }}
          spellCheck={false}
          onChange={(event) => set({ script: event.currentTarget.value })}
        />
      )}
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

import { Alert, Button, NumberInput, Select, Stack, Text, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Capabilities, FieldError, KindInfo } from '../api/contract.gen';
import { isName, processCheck, totalOf, withoutSecondRunner } from './checks';
import { containerPath, DESCRIPTION, type Form, type Path } from './manifest';
import { type Edit, RoleFields } from './RoleFields';
import { rolesWithCommand } from './starters';
import { Words } from './Words';

interface Props {
  readonly form: Form;
  readonly kind: KindInfo;
  readonly capabilities: Capabilities;
  readonly disabled: boolean;
  readonly findings: readonly FieldError[];
  readonly edit: Edit;
}

/** `spec.a.Worker.containers[0].image`, as the errors of the API server name a field. */
export function fieldName(path: Path): string {
  return path
    .map((each) => (typeof each === 'number' ? `[${each}]` : `.${each}`))
    .join('')
    .replace(/^\./, '');
}

export function JobForm({ form, kind, capabilities, disabled, findings, edit }: Props) {
  const { t } = useTranslation();
  const errorAt = (path: Path) =>
    findings.find((each) => each.level === 'error' && each.path === fieldName(path))?.message;
  const commanded = form.roles.filter((role) => rolesWithCommand(kind).includes(role.name));
  const main = commanded[0];
  const setAll = (key: string, value: unknown, roles = form.roles) =>
    edit(...roles.map((role) => [[...containerPath(kind, role.name), key], value] as const));
  const total = totalOf(form);
  return (
    <Stack gap="sm">
      <h2 className="card-title">{t('wizard.basics')}</h2>
      <div className="form-row">
        <TextInput
          label={t('columns.name')}
          required
          value={form.name}
          disabled={disabled}
          error={(isName(form.name) ? undefined : t('wizard.nameRule')) ?? errorAt(['metadata', 'name'])}
          onChange={(event) => edit([['metadata', 'name'], event.currentTarget.value])}
        />
        <Select
          label={t('filters.ns')}
          value={form.namespace || capabilities.namespace}
          disabled={disabled}
          searchable
          allowDeselect={false}
          data={[...new Set([form.namespace || capabilities.namespace, ...capabilities.namespaces])]}
          onChange={(value) => edit([['metadata', 'namespace'], value ?? undefined])}
        />
        {kind.apiVersions.length > 1 && (
          <Select
            label={t('wizard.apiVersion')}
            value={form.apiVersion}
            disabled={disabled}
            allowDeselect={false}
            data={kind.apiVersions}
            onChange={(value) => edit([['apiVersion'], value ?? form.apiVersion])}
          />
        )}
      </div>
      <TextInput
        label={t('wizard.description')}
        value={form.description}
        disabled={disabled}
        onChange={(event) => edit([['metadata', 'annotations', DESCRIPTION], event.currentTarget.value || undefined])}
      />
      <h2 className="card-title">{t('wizard.command')}</h2>
      <TextInput
        label={t('replica.image')}
        required
        value={main?.image ?? ''}
        disabled={disabled || !main}
        error={main && errorAt([...containerPath(kind, main.name), 'image'])}
        onChange={(event) => setAll('image', event.currentTarget.value)}
      />
      <Words
        label={t('wizard.startCommand')}
        words={main?.command ?? []}
        disabled={disabled || !main}
        onChange={(words) => setAll('command', words.length > 0 ? words : undefined, commanded)}
      />
      <Words
        label={t('wizard.arguments')}
        words={main?.args ?? []}
        disabled={disabled || !main}
        onChange={(words) => setAll('args', words.length > 0 ? words : undefined, commanded)}
      />
      {main && <DoubledRunner args={withoutSecondRunner(main)} fix={(args) => setAll('args', args, commanded)} />}
      <h2 className="card-title">{t('wizard.resources')}</h2>
      {form.roles.map((role) => (
        <RoleFields key={role.name} kind={kind} role={role} disabled={disabled} edit={edit} errorAt={errorAt} />
      ))}
      {kind.kind === 'mpijob' && (
        <NumberInput
          label={t('wizard.slots')}
          size="xs"
          w={140}
          min={1}
          allowDecimal={false}
          value={form.slotsPerWorker}
          disabled={disabled}
          onChange={(value) => edit([['spec', 'slotsPerWorker'], Number(value)])}
        />
      )}
      <Text size="sm" data-testid="total">
        <strong>{t('wizard.total', { count: total.replicas })}</strong> = {total.sum}
        {total.resources.map(([name, value]) => ` · ${value} ${name}`).join('')}
      </Text>
      <Processes form={form} />
    </Stack>
  );
}

interface DoubledProps {
  readonly args: string[] | null;
  readonly fix: (args: string[]) => void;
}

function DoubledRunner({ args, fix }: DoubledProps) {
  const { t } = useTranslation();
  if (args === null) return null;
  return (
    <Alert color="yellow" title={t('wizard.doubled')}>
      <Button size="xs" onClick={() => fix(args)}>
        {t('wizard.doubledFix')}
      </Button>
    </Alert>
  );
}

function Processes({ form }: { readonly form: Form }) {
  const { t } = useTranslation();
  const check = processCheck(form);
  if (check === null) return null;
  if (check.processes === check.slots) return <Text size="sm">{t('wizard.npFits', { ...check })}</Text>;
  return (
    <Alert color={check.processes > check.slots ? 'red' : 'yellow'}>
      {check.processes > check.slots ? t('wizard.npMore', { ...check }) : t('wizard.npFewer', { ...check })}
    </Alert>
  );
}

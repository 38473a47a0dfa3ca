import { Alert, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Capabilities, FieldError, KindInfo } from '../api/contract.gen';
import { processCheck, totalOf } from './checks';
import type { Form, Path } from './manifest';
import { NumberField } from './NumberField';
import { RoleFields } from './RoleFields';
import { BasicsSection } from './sections/BasicsSection';
import { CommandSection } from './sections/CommandSection';
import type { Edit } from './sections/section';

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

export function JobForm({ findings, ...props }: Props) {
  const { t } = useTranslation();
  const { form, kind, disabled, edit } = props;
  const errorAt = (path: Path) =>
    findings.find((each) => each.level === 'error' && each.path === fieldName(path))?.message;
  const total = totalOf(form);
  return (
    <Stack gap="sm">
      <BasicsSection {...props} errorAt={errorAt} />
      <CommandSection {...props} errorAt={errorAt} />
      <h2 className="card-title">{t('wizard.resources')}</h2>
      {form.roles.map((role) => (
        <RoleFields key={role.name} kind={kind} role={role} disabled={disabled} edit={edit} errorAt={errorAt} />
      ))}
      {kind.kind === 'mpijob' && (
        <NumberField
          label={t('wizard.slots')}
          w={140}
          min={1}
          value={form.slotsPerWorker}
          disabled={disabled}
          onNumber={(value) => edit([['spec', 'slotsPerWorker'], value])}
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

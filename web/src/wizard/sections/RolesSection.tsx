import { Alert, Button, Group, Menu, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { PlusIcon } from '../../icons';
import { processCheck, totalOf } from '../checks';
import { NumberField } from '../NumberField';
import { type Form, rolePath, tree } from '../projection';
import { RoleFields } from './RoleFields';
import type { SectionProps } from './section';

/** Replicas and resources of each role, and what they are together. */
export function RolesSection(props: SectionProps) {
  const { t } = useTranslation();
  const { form, kind, disabled, edit } = props;
  const total = totalOf(form);
  return (
    <>
      <h2 className="card-title">{t('wizard.resources')}</h2>
      {form.roles.map((role) => (
        <RoleFields key={role.name} {...props} role={role} />
      ))}
      <Group gap="sm" align="flex-end">
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
        <AddRole {...props} />
      </Group>
      <Text size="sm" data-testid="total">
        <strong>{t('wizard.total', { count: total.replicas })}</strong> = {total.sum}
        {total.resources.map(([name, value]) => ` · ${value} ${name}`).join('')}
      </Text>
      <Processes form={form} />
    </>
  );
}

/** A new role begins as a copy of the last one, with one replica. */
function AddRole({ form, kind, disabled, edit }: SectionProps) {
  const { t } = useTranslation();
  const missing = kind.roles.filter((name) => !form.roles.some((role) => role.name === name));
  const last = form.roles.at(-1);
  if (missing.length === 0 || !last) return null;
  const copied = tree(tree(form.spec[kind.replicasField])[last.name]);
  return (
    <Menu>
      <Menu.Target>
        <Button size="xs" variant="default" leftSection={<PlusIcon size={12} />} disabled={disabled}>
          {t('wizard.addRole')}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {missing.map((name) => (
          <Menu.Item key={name} onClick={() => edit([rolePath(kind, { name }), { ...copied, replicas: 1 }])}>
            {name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
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

import { ActionIcon, Fieldset, Select, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { CloseIcon } from '../../icons';
import { amount, PRESETS, presetChanges, presetOf, setAmount } from '../devices';
import { NumberField } from '../NumberField';
import { containerPath, rolePath } from '../projection';
import { DeviceRows } from './DeviceRows';
import type { RoleProps } from './section';

const RESTART = ['OnFailure', 'Never', 'Always', 'ExitCode'];

export function RoleFields(props: RoleProps) {
  const { t } = useTranslation();
  const { form, kind, role, disabled, edit, errorAt } = props;
  const path = rolePath(kind, role);
  return (
    <Fieldset legend={role.name} disabled={disabled} p="xs" pt={0}>
      <div className="role-fields">
        <NumberField
          label={t('wizard.replicas')}
          w={76}
          min={0}
          value={role.replicas}
          error={errorAt([...path, 'replicas'])}
          onNumber={(value) => edit([[...path, 'replicas'], value])}
        />
        <Select
          label={t('wizard.preset')}
          w={150}
          placeholder={t('wizard.custom')}
          data={PRESETS.map((each) => each.name)}
          value={presetOf(role)}
          onChange={(name) => {
            const preset = PRESETS.find((each) => each.name === name);
            if (preset) edit(...presetChanges(kind, role, preset));
          }}
          allowDeselect={false}
        />
        <Amount {...props} name="cpu" label={t('wizard.cpu')} />
        <Amount {...props} name="memory" label={t('wizard.memory')} />
        <Select
          label={t('facts.restartPolicy')}
          w={120}
          clearable
          placeholder={t('wizard.default')}
          data={RESTART}
          value={role.restartPolicy || null}
          error={errorAt([...path, 'restartPolicy'])}
          onChange={(value) => edit([[...path, 'restartPolicy'], value ?? undefined])}
        />
        {form.roles.length > 1 && kind.kind !== 'mpijob' && (
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={t('wizard.remove', { name: role.name })}
            onClick={() => edit([path, undefined])}
          >
            <CloseIcon size={13} />
          </ActionIcon>
        )}
      </div>
      <DeviceRows {...props} />
    </Fieldset>
  );
}

interface AmountProps extends RoleProps {
  readonly name: string;
  readonly label: string;
}

function Amount({ kind, role, edit, errorAt, name, label }: AmountProps) {
  const resources = [...containerPath(kind, role), 'resources'];
  return (
    <TextInput
      label={label}
      w={72}
      value={amount(role, name)}
      error={errorAt([...resources, 'requests', name]) ?? errorAt([...resources, 'limits', name])}
      onChange={(event) => edit(...setAmount(kind, role, name, event.currentTarget.value))}
    />
  );
}

import { Button, Menu, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { PlusIcon } from '../../icons';
import { amountOf, DEVICES, deviceRows, setAmount } from '../devices';
import { containerPath } from '../projection';
import { useTypedText } from '../useTypedText';
import { Row } from './Row';
import type { RoleProps } from './section';

/** GPUs, shares of GPUs and other extended resources, one row each. */
export function DeviceRows(props: RoleProps) {
  const { kind, role, disabled, edit } = props;
  const { t } = useTranslation();
  const rows = deviceRows(role);
  const free = DEVICES.filter((name) => !rows.some(([each]) => each === name));
  return (
    <div className="entries">
      {rows.map(([name, value]) => (
        <Row
          key={name}
          removeLabel={t('wizard.remove', { name })}
          disabled={disabled}
          onRemove={() => edit(...setAmount(kind, role, name, ''))}
        >
          <code className="entry-key">{name}</code>
          <DeviceAmount {...props} name={name} value={value} />
        </Row>
      ))}
      <Menu>
        <Menu.Target>
          <Button size="compact-xs" variant="subtle" leftSection={<PlusIcon size={12} />} disabled={disabled}>
            {t('wizard.addDevice')}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {free.map((name) => (
            <Menu.Item
              key={name}
              onClick={() => edit(...setAmount(kind, role, name, name.endsWith('gpumem') ? '1k' : '1'))}
            >
              {name}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
    </div>
  );
}

interface AmountProps extends RoleProps {
  readonly name: string;
  readonly value: string;
}

/** A row without an amount would be no row: an empty field means 0. */
function DeviceAmount({ kind, role, edit, errorAt, name, value }: AmountProps) {
  const { text, type, leave } = useTypedText(value, amountOf, (typed) => edit(...setAmount(kind, role, name, typed)));
  return (
    <TextInput
      aria-label={name}
      w={90}
      value={text}
      error={errorAt([...containerPath(kind, role), 'resources', 'limits', name])}
      onChange={(event) => type(event.currentTarget.value)}
      onBlur={leave}
    />
  );
}

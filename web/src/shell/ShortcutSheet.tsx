import { Kbd, Modal, Switch, Table } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { withModifier } from './modifierKey';
import { setShortcuts, useShortcutsOn } from './shortcuts';

const KEYS = [
  [withModifier('K'), 'palette'],
  ['?', 'sheet'],
  ['g j', 'jobs'],
  ['g n', 'nodes'],
  ['g q', 'queues'],
  ['g t', 'templates'],
  ['n', 'newJob'],
  ['/', 'find'],
  ['j k', 'move'],
  ['Enter', 'open'],
  ['x', 'select'],
  ['[ ]', 'tabs'],
  ['f', 'follow'],
  ['e', 'nextError'],
  ['1–9', 'rank'],
  ['↑ ↓ Enter', 'line'],
] as const;

interface Props {
  readonly onClose: () => void;
}

export function ShortcutSheet({ onClose }: Props) {
  const { t } = useTranslation();
  const on = useShortcutsOn();
  return (
    <Modal opened onClose={onClose} title={t('shortcuts.title')} closeButtonProps={{ 'aria-label': t('dialog.close') }}>
      <Switch
        mb="sm"
        label={t('shortcuts.single')}
        description={t('shortcuts.singleHint')}
        checked={on}
        onChange={(event) => setShortcuts(event.currentTarget.checked)}
      />
      <Table>
        <Table.Tbody>
          {KEYS.map(([keys, name]) => (
            <Table.Tr key={name}>
              <Table.Td>
                {keys.split(' ').map((key) => (
                  <Kbd key={key} mr={4}>
                    {key}
                  </Kbd>
                ))}
              </Table.Td>
              <Table.Td>{t(`shortcuts.${name}`)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Modal>
  );
}

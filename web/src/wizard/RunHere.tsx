import { Button, Group, Modal } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Capabilities, KindInfo, NodeList } from '../api/contract.gen';
import { useClusterList } from '../cluster/useCluster';
import { CommandText, Copy } from './CommandPanel';
import { heredoc } from './commands';
import { edited } from './manifest';
import type { Form } from './projection';
import { type Capacity, shrunk } from './shrink';

interface Props {
  readonly capabilities: Capabilities;
  readonly kind: KindInfo;
  readonly form: Form;
  readonly text: string;
  readonly disabled: boolean;
  /** Replaces the text; the user can have the old one back. */
  readonly onShrink: (text: string) => void;
}

/** Tries the job before a cluster runs it: on one machine in the form itself, else as a command for the user's own machine. */
export function RunHere(props: Props) {
  return props.capabilities.mode === 'embedded' ? <Shrink {...props} /> : <ShrunkCommand {...props} />;
}

function Shrink({ kind, form, text, disabled, onShrink }: Props) {
  const { t } = useTranslation();
  const { data } = useClusterList<NodeList>('nodes');
  const node = data?.nodes.find((each) => each.ready && each.schedulable);
  const changes = node ? shrunk(kind, form, node.allocatable as Capacity) : [];
  return (
    <Button
      variant="default"
      disabled={disabled || changes.length === 0}
      title={changes.length === 0 ? t('runHere.fits') : t('runHere.hint')}
      onClick={() => onShrink(edited(text, changes))}
    >
      {t('runHere.title')}
    </Button>
  );
}

function ShrunkCommand({ kind, form, text, disabled }: Props) {
  const { t } = useTranslation();
  const [opened, setOpened] = useState(false);
  const command = opened ? heredoc('traincrew run -', edited(text, shrunk(kind, form, null))) : '';
  return (
    <>
      <Button variant="default" disabled={disabled} title={t('runHere.hint')} onClick={() => setOpened(true)}>
        {t('runHere.title')}
      </Button>
      <Modal
        opened={opened}
        onClose={() => setOpened(false)}
        title={t('runHere.title')}
        size="xl"
        closeButtonProps={{ 'aria-label': t('dialog.close') }}
      >
        <Group justify="space-between" mb="sm" wrap="nowrap">
          <p>{t('runHere.command')}</p>
          <Copy text={command} />
        </Group>
        <CommandText text={command} />
      </Modal>
    </>
  );
}

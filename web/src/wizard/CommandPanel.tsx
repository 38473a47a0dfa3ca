import { Button, CopyButton, Group, SegmentedControl } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Capabilities } from '../api/contract.gen';
import { commandOf, type Program } from './commands';

interface Props {
  readonly capabilities: Capabilities;
  readonly text: string;
  /** That of the manifest. Empty: it has none, and the command names the default. */
  readonly namespace: string;
}

export function CommandPanel({ capabilities, text, namespace }: Props) {
  const { t } = useTranslation();
  const [program, setProgram] = useState<Program>('traincrew');
  const command = commandOf(program, capabilities, namespace === '' ? capabilities.namespace : '', text);
  return (
    <details className="data-table">
      <summary>{t('command.title')}</summary>
      <Group justify="space-between" my={6}>
        <SegmentedControl
          size="xs"
          aria-label={t('command.program')}
          value={program}
          onChange={(value) => setProgram(value as Program)}
          data={['traincrew', 'kubectl']}
        />
        <Copy text={command} />
      </Group>
      <CommandText text={command} />
    </details>
  );
}

export function Copy({ text }: { readonly text: string }) {
  const { t } = useTranslation();
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <Button size="xs" variant="default" onClick={copy}>
          {copied ? t('command.copied') : t('command.copy')}
        </Button>
      )}
    </CopyButton>
  );
}

/** A text field, so that the keyboard reaches what scrolls. */
export function CommandText({ text }: { readonly text: string }) {
  const { t } = useTranslation();
  return <textarea className="command-text" readOnly rows={14} aria-label={t('command.title')} value={text} />;
}

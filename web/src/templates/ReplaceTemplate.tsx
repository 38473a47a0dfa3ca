import { Button, Group, Modal, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';

interface Props {
  readonly name: string;
  readonly onClose: () => void;
  readonly onReplace: () => void;
  readonly onKeepBoth: () => void;
}

/** Asks before a file takes the place of a template that is saved. */
export function ReplaceTemplate({ name, onClose, onReplace, onKeepBoth }: Props) {
  const { t } = useTranslation();
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('templates.replaceTitle', { name })}
      closeButtonProps={{ 'aria-label': t('dialog.close') }}
    >
      <Text size="sm">{t('templates.replaceText')}</Text>
      <Group justify="flex-end" mt="sm">
        <Button variant="default" onClick={onClose}>
          {t('dialog.cancel')}
        </Button>
        <Button variant="default" onClick={onKeepBoth}>
          {t('templates.keepBoth')}
        </Button>
        <Button onClick={onReplace}>{t('templates.replace')}</Button>
      </Group>
    </Modal>
  );
}

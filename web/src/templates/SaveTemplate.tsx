import { Button, Group, Modal, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { loadSaved, saveTemplate } from './saved';

interface Props {
  readonly text: string;
  readonly name: string;
}

/** Keeps the text under a name, for other jobs that begin with it. */
export function SaveTemplate({ text, name }: Props) {
  const { t } = useTranslation();
  const [opened, setOpened] = useState(false);
  const [chosen, setChosen] = useState('');
  const save = (event: FormEvent) => {
    event.preventDefault();
    saveTemplate(chosen, text);
    notifications.show({ message: t('templates.savedAs', { name: chosen }) });
    setOpened(false);
  };
  const open = () => {
    setChosen(name);
    setOpened(true);
  };
  return (
    <>
      <Button size="xs" variant="subtle" onClick={open}>
        {t('templates.save')}
      </Button>
      <Modal
        opened={opened}
        onClose={() => setOpened(false)}
        title={t('templates.save')}
        closeButtonProps={{ 'aria-label': t('dialog.close') }}
      >
        <form onSubmit={save}>
          <TextInput
            data-autofocus
            label={t('templates.name')}
            value={chosen}
            description={chosen in loadSaved() ? t('templates.replaces') : undefined}
            onChange={(event) => setChosen(event.currentTarget.value)}
          />
          <Group justify="flex-end" mt="sm">
            <Button type="submit" disabled={chosen.trim() === ''}>
              {t('templates.keep')}
            </Button>
          </Group>
        </form>
      </Modal>
    </>
  );
}

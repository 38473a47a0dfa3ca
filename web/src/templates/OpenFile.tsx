import { Button, FileButton } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ReplaceTemplate } from './ReplaceTemplate';
import { freeName, loadSaved, nameOfFile, saveTemplate } from './saved';

/** Saves a file as a template and begins a job with it. */
export function OpenFile() {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const [asked, setAsked] = useState<{ name: string; text: string } | null>(null);
  const reset = useRef<() => void>(null);
  const use = (name: string, text: string) => {
    saveTemplate(name, text);
    void navigate({ to: '/jobs/new', search: { from: `template:${name}` } });
  };
  const open = async (file: File | null) => {
    reset.current?.(); // the same file can be chosen again
    if (!file) return;
    const name = nameOfFile(file.name);
    const text = await file.text();
    const { [name]: before } = loadSaved();
    if (before === undefined || before === text) use(name, text);
    else setAsked({ name, text });
  };
  return (
    <>
      <FileButton onChange={(file) => void open(file)} accept=".yaml,.yml,.json" resetRef={reset}>
        {(props) => (
          <Button {...props} size="xs" variant="default">
            {t('templates.fromFile')}
          </Button>
        )}
      </FileButton>
      {asked && (
        <ReplaceTemplate
          name={asked.name}
          onClose={() => setAsked(null)}
          onReplace={() => use(asked.name, asked.text)}
          onKeepBoth={() => use(freeName(asked.name, loadSaved()), asked.text)}
        />
      )}
    </>
  );
}

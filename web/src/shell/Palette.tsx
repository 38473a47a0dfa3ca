import { Modal, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { jobId } from '../api/patches';
import { useJobs } from '../api/topics';
import { select } from '../jobs/jobFilters';
import { StatusIcon } from '../jobs/StatusBadge';

interface Props {
  readonly onClose: () => void;
}

const SHOWN = 12;

/** Opens any job by a part of its name. */
export function Palette({ onClose }: Props) {
  const { t } = useTranslation();
  return (
    <Modal
      opened
      onClose={onClose}
      withCloseButton={false}
      padding={0}
      size="lg"
      title={t('palette.title')}
      classNames={{ header: 'hidden-title' }}
    >
      <Choices onClose={onClose} />
    </Modal>
  );
}

function Choices({ onClose }: { readonly onClose: () => void }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const { data } = useJobs();
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const found = select(data?.jobs ?? [], text === '' ? {} : { q: text }, Date.now()).jobs.slice(0, SHOWN);
  const open = (index: number) => {
    const job = found[index];
    if (!job) return;
    onClose();
    void navigate({
      to: '/jobs/$namespace/$kind/$name',
      params: { namespace: job.namespace, kind: job.kind, name: job.name },
    });
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setAt(Math.min(at + 1, found.length - 1));
    else if (event.key === 'ArrowUp') setAt(Math.max(at - 1, 0));
    else if (event.key === 'Enter') open(at);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <TextInput
        data-autofocus
        size="md"
        variant="unstyled"
        px="md"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-choices"
        aria-activedescendant={found[at] ? `palette-${at}` : undefined}
        aria-label={t('palette.title')}
        placeholder={t('palette.placeholder')}
        value={text}
        onKeyDown={press}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
      />
      <div id="palette-choices" role="listbox" aria-label={t('jobs.title')} className="palette-choices">
        {found.map((job, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the combobox.
          <div
            key={jobId(job)}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === at}
            className="palette-choice"
            onClick={() => open(index)}
            onMouseMove={() => setAt(index)}
          >
            <StatusIcon job={job} />
            <span className="name">{job.name}</span>
            <span className="quiet">
              {job.namespace} · {job.kindName}
            </span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p className="palette-nothing">{t('palette.nothing')}</p>}
    </>
  );
}

import { Button, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { PlusIcon } from '../../icons';
import type { Path } from '../manifest';
import { Row } from './Row';
import type { Edit } from './section';

interface Props {
  readonly label: string;
  readonly addLabel: string;
  readonly pairs: readonly (readonly [string, string])[];
  readonly path: Path;
  readonly disabled: boolean;
  readonly edit: Edit;
}

/** Labels or annotations. A new pair becomes part of the YAML when it has a key. */
export function PairRows({ label, addLabel, pairs, path, disabled, edit }: Props) {
  const { t } = useTranslation();
  const [fresh, setFresh] = useState<readonly [string, string] | null>(null);
  const keep = () => {
    if (fresh && fresh[0] !== '') edit([[...path, fresh[0]], fresh[1]]);
    setFresh(null);
  };
  return (
    <fieldset className="entries">
      <legend>{label}</legend>
      {pairs.map(([key, value]) => (
        <Row
          key={key}
          removeLabel={t('wizard.remove', { name: key })}
          disabled={disabled}
          onRemove={() => edit([[...path, key], undefined])}
        >
          <code className="entry-key">{key}</code>
          <TextInput
            aria-label={key}
            value={value}
            disabled={disabled}
            onChange={(event) => edit([[...path, key], event.currentTarget.value])}
          />
        </Row>
      ))}
      {fresh && (
        <div
          role="group"
          aria-label={label}
          className="entry-row"
          onBlur={(event) => !event.currentTarget.contains(event.relatedTarget) && keep()}
        >
          <TextInput
            autoFocus
            aria-label={t('wizard.key')}
            placeholder={t('wizard.key')}
            value={fresh[0]}
            onChange={(event) => setFresh([event.currentTarget.value, fresh[1]])}
          />
          <TextInput
            aria-label={t('wizard.value')}
            placeholder={t('wizard.value')}
            value={fresh[1]}
            onChange={(event) => setFresh([fresh[0], event.currentTarget.value])}
            onKeyDown={(event) => event.key === 'Enter' && keep()}
          />
        </div>
      )}
      <Button
        size="compact-xs"
        variant="subtle"
        leftSection={<PlusIcon size={12} />}
        disabled={disabled || fresh !== null}
        onClick={() => setFresh(['', ''])}
      >
        {addLabel}
      </Button>
    </fieldset>
  );
}

import { NumberInput, type NumberInputProps } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';

interface Props extends Omit<NumberInputProps, 'value' | 'onChange' | 'allowDecimal'> {
  readonly value: number | null;
  /** What an empty field means. Without it, an empty field changes nothing and says so. */
  readonly onEmpty?: () => void;
  readonly onNumber: (value: number) => void;
}

/** A whole number. An empty field is never 0. */
export function NumberField({ value, onEmpty, onNumber, error, ...rest }: Props) {
  const { t } = useTranslation();
  const [empty, setEmpty] = useState(false);
  const missing = empty && onEmpty === undefined;
  return (
    <NumberInput
      {...rest}
      allowDecimal={false}
      clampBehavior="blur"
      value={empty || value === null ? '' : value}
      error={missing ? t('wizard.numberMissing') : error}
      onBlur={() => setEmpty(false)}
      onChange={(entered) => {
        setEmpty(entered === '');
        if (entered === '') onEmpty?.();
        else if (Number.isInteger(Number(entered))) onNumber(Number(entered));
      }}
    />
  );
}

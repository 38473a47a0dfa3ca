import { Button } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { ArrowDownIcon } from '../icons';

export function ToEnd({ onClick }: { readonly onClick: () => void }) {
  const { t } = useTranslation();
  return (
    <Button className="to-end" size="xs" leftSection={<ArrowDownIcon size={13} />} onClick={onClick}>
      {t('logs.toEnd')}
    </Button>
  );
}

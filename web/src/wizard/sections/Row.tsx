import { ActionIcon } from '@mantine/core';
import type { ReactNode } from 'react';
import { CloseIcon } from '../../icons';

interface Props {
  readonly children: ReactNode;
  readonly removeLabel: string;
  readonly disabled: boolean;
  readonly onRemove: () => void;
}

/** One entry of a list, with the button that removes it. */
export function Row({ children, removeLabel, disabled, onRemove }: Props) {
  return (
    <div className="entry-row">
      {children}
      <ActionIcon variant="subtle" color="gray" aria-label={removeLabel} disabled={disabled} onClick={onRemove}>
        <CloseIcon size={13} />
      </ActionIcon>
    </div>
  );
}

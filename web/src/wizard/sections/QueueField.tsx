import { TextInput } from '@mantine/core';
import { useId } from 'react';
import { useTranslation } from 'react-i18next';
import type { QueueList } from '../../api/contract.gen';
import { freeQuota, queuesOf } from '../../cluster/freeQuota';
import { useClusterList, useObjection } from '../../cluster/useCluster';

interface Props {
  readonly value: string;
  readonly namespace: string;
  readonly disabled: boolean;
  readonly onChange: (queue: string) => void;
}

/** The name of a queue. If the cluster has queues, those of the namespace are offered, and what is free in the chosen one is said. */
export function QueueField(props: Props) {
  return useObjection('queues') === '' ? <KnownQueues {...props} /> : <Field {...props} free="" names={[]} />;
}

function KnownQueues(props: Props) {
  const { t } = useTranslation();
  const { data } = useClusterList<QueueList>('queues');
  const queues = queuesOf(data?.queues ?? [], props.namespace);
  const chosen = queues.find((each) => each.name === props.value);
  const amount = chosen === undefined ? '' : freeQuota(chosen);
  return (
    <Field
      {...props}
      free={amount === '' ? '' : t('wizard.freeQuota', { amount })}
      names={queues.map((each) => each.name)}
    />
  );
}

function Field({ value, disabled, onChange, free, names }: Props & { free: string; names: readonly string[] }) {
  const { t } = useTranslation();
  const id = useId();
  return (
    <>
      <TextInput
        label={t('columns.queue')}
        placeholder={t('wizard.noQueue')}
        description={free === '' ? undefined : free}
        inputWrapperOrder={['label', 'input', 'description']}
        value={value}
        disabled={disabled}
        {...(names.length > 0 ? { list: id } : {})}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      {names.length > 0 && (
        <datalist id={id}>
          {names.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      )}
    </>
  );
}

import { TextInput } from '@mantine/core';
import { useId } from 'react';
import { useTranslation } from 'react-i18next';
import type { Queue, QueueList } from '../../api/contract.gen';
import { freeQuota, queuesOf } from '../../cluster/freeQuota';
import { useClusterList, useObjection } from '../../cluster/useCluster';
import type { QueueSystem } from '../queues';

interface Props {
  readonly chosen: { readonly system: QueueSystem; readonly name: string } | null;
  readonly namespace: string;
  readonly disabled: boolean;
  /** The queues that the namespace has say to which system the name belongs. */
  readonly onChange: (name: string, queues: readonly Queue[]) => void;
}

/** The name of a queue. If the cluster has queues, those of the namespace are offered, and what is free in the chosen one is said. */
export function QueueField(props: Props) {
  return useObjection('queues') === '' ? <KnownQueues {...props} /> : <Field {...props} free="" queues={[]} />;
}

function KnownQueues(props: Props) {
  const { t } = useTranslation();
  const { data } = useClusterList<QueueList>('queues');
  const { chosen, namespace } = props;
  const queues = queuesOf(data?.queues ?? [], namespace);
  const found = queues.find((each) => each.name === chosen?.name && each.system === chosen.system);
  const amount = found === undefined ? '' : freeQuota(found);
  return <Field {...props} free={amount === '' ? '' : t('wizard.freeQuota', { amount })} queues={queues} />;
}

function Field({ chosen, disabled, onChange, free, queues }: Props & { free: string; queues: readonly Queue[] }) {
  const { t } = useTranslation();
  const id = useId();
  const names = [...new Set(queues.map((each) => each.name))];
  return (
    <>
      <TextInput
        label={t('columns.queue')}
        placeholder={t('wizard.noQueue')}
        description={free === '' ? undefined : free}
        inputWrapperOrder={['label', 'input', 'description']}
        value={chosen?.name ?? ''}
        disabled={disabled}
        {...(names.length > 0 ? { list: id } : {})}
        onChange={(event) => onChange(event.currentTarget.value, queues)}
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

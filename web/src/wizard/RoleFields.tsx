import { Fieldset, Select, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { KindInfo } from '../api/contract.gen';
import { containerPath, type Path, type RoleForm } from './manifest';
import { NumberField } from './NumberField';
import type { Edit } from './sections/section';

interface Props {
  readonly kind: KindInfo;
  readonly role: RoleForm;
  readonly disabled: boolean;
  readonly edit: Edit;
  readonly errorAt: (path: Path) => string | undefined;
}

const PRESETS: Record<string, readonly [string, string]> = {
  '1 CPU · 2Gi': ['1', '2Gi'],
  '2 CPU · 4Gi': ['2', '4Gi'],
  '4 CPU · 8Gi': ['4', '8Gi'],
  '8 CPU · 32Gi': ['8', '32Gi'],
};
const ORDINARY = ['cpu', 'memory', 'ephemeral-storage'];
const DEVICE = 'nvidia.com/gpu';

export function RoleFields({ kind, role, disabled, edit, errorAt }: Props) {
  const { t } = useTranslation();
  const resources: Path = [...containerPath(kind, role), 'resources'];
  const replicas: Path = ['spec', kind.replicasField, role.name, 'replicas'];
  const device = Object.keys(role.limits).find((name) => !ORDINARY.includes(name)) ?? DEVICE;
  const cpu = role.requests.cpu ?? role.limits.cpu ?? '';
  const memory = role.requests.memory ?? role.limits.memory ?? '';
  const set = (name: string, value: string) => {
    const kept = value === '' ? undefined : value;
    edit([[...resources, 'requests', name], kept], [[...resources, 'limits', name], kept]);
  };
  const preset = Object.entries(PRESETS).find(([, each]) => each[0] === cpu && each[1] === memory)?.[0] ?? null;
  return (
    <Fieldset legend={role.name} disabled={disabled} className="role-fields">
      <NumberField
        label={t('wizard.replicas')}
        w={76}
        min={0}
        value={role.replicas}
        error={errorAt(replicas)}
        onNumber={(value) => edit([replicas, value])}
      />
      <Select
        label={t('wizard.preset')}
        size="xs"
        w={124}
        placeholder={t('wizard.custom')}
        data={Object.keys(PRESETS)}
        value={preset}
        onChange={(name) => {
          const [newCpu, newMemory] = PRESETS[name ?? ''] ?? ['', ''];
          edit(
            [[...resources, 'requests', 'cpu'], newCpu],
            [[...resources, 'limits', 'cpu'], newCpu],
            [[...resources, 'requests', 'memory'], newMemory],
            [[...resources, 'limits', 'memory'], newMemory],
          );
        }}
        allowDeselect={false}
      />
      <TextInput
        label={t('wizard.cpu')}
        size="xs"
        w={64}
        value={cpu}
        error={errorAt([...resources, 'requests', 'cpu']) ?? errorAt([...resources, 'limits', 'cpu'])}
        onChange={(event) => set('cpu', event.currentTarget.value)}
      />
      <TextInput
        label={t('wizard.memory')}
        size="xs"
        w={72}
        value={memory}
        error={errorAt([...resources, 'requests', 'memory']) ?? errorAt([...resources, 'limits', 'memory'])}
        onChange={(event) => set('memory', event.currentTarget.value)}
      />
      <NumberField
        label={device}
        w={104}
        min={0}
        value={Number(role.limits[device] ?? 0)}
        onEmpty={() => edit([[...resources, 'limits', device], undefined])}
        onNumber={(value) => edit([[...resources, 'limits', device], value > 0 ? value : undefined])}
      />
    </Fieldset>
  );
}

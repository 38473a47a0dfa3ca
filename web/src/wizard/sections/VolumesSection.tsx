import { Button, Checkbox, Menu, Select, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { PlusIcon } from '../../icons';
import { containerPath } from '../projection';
import { type Shared, sharedBy } from '../shared';
import {
  addVolume,
  changeVolume,
  removeVolume,
  setSharedMemory,
  sharedMemory,
  VOLUME_TYPES,
  type VolumeRow,
  type VolumeType,
  volumeRows,
} from '../volumes';
import { Row } from './Row';
import { forRoles, labelOf, type SectionProps } from './section';

export function VolumesSection(props: SectionProps) {
  const { t } = useTranslation();
  const { form, kind, disabled, edit } = props;
  return (
    <>
      <h2 className="card-title">{t('wizard.volumes')}</h2>
      {sharedBy(form.roles, volumeRows).map((shared) => (
        <Volumes key={shared.role} {...props} shared={shared} />
      ))}
      {sharedBy(form.roles, sharedMemory).map((shared) => (
        <TextInput
          key={shared.role}
          w={220}
          label={labelOf(t, t('wizard.sharedMemory'), shared)}
          description={t('wizard.sharedMemoryHint')}
          placeholder={'64Mi'}
          value={sharedMemory(shared.first)}
          disabled={disabled}
          onChange={(event) =>
            edit(...forRoles(shared.roles, (role) => setSharedMemory(kind, role, event.currentTarget.value)))
          }
        />
      ))}
    </>
  );
}

interface VolumesProps extends SectionProps {
  readonly shared: Shared;
}

function Volumes(props: VolumesProps) {
  const { t } = useTranslation();
  const { shared, kind, disabled, edit } = props;
  const label = labelOf(t, t('wizard.mounts'), shared);
  return (
    <fieldset className="entries">
      <legend>{label}</legend>
      {volumeRows(shared.first).map((row) => (
        <VolumeFields key={row.mount} {...props} row={row} />
      ))}
      <Menu>
        <Menu.Target>
          <Button size="compact-xs" variant="subtle" leftSection={<PlusIcon size={12} />} disabled={disabled}>
            {t('wizard.addVolume')}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {VOLUME_TYPES.map((type) => (
            <Menu.Item
              key={type}
              onClick={() => edit(...forRoles(shared.roles, (role) => addVolume(kind, role, type)))}
            >
              {t(`volumes.${type}`)}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
    </fieldset>
  );
}

interface RowProps extends VolumesProps {
  readonly row: VolumeRow;
}

function VolumeFields({ shared, kind, disabled, errorAt, edit, row }: RowProps) {
  const { t } = useTranslation();
  const set = (part: Partial<VolumeRow>) =>
    edit(...forRoles(shared.roles, (role) => changeVolume(kind, role, volumeRows(role)[at] ?? row, part)));
  const at = volumeRows(shared.first).findIndex((each) => each.mount === row.mount);
  const remove = () => edit(...forRoles(shared.roles, (role) => removeVolume(kind, role, volumeRows(role)[at] ?? row)));
  const mount = [...containerPath(kind, shared.first), 'volumeMounts', row.mount, 'mountPath'];
  return (
    <Row removeLabel={t('wizard.remove', { name: row.name })} disabled={disabled} onRemove={remove}>
      <Select
        aria-label={t('wizard.volumeType')}
        w={150}
        allowDeselect={false}
        placeholder={row.name}
        data={VOLUME_TYPES.map((type) => ({ value: type, label: t(`volumes.${type}`) }))}
        value={row.type || null}
        disabled={disabled || row.type === ''}
        onChange={(value) => value && set({ type: value as VolumeType })}
      />
      <TextInput
        aria-label={row.type === '' ? row.name : t(`volumeSources.${row.type}`)}
        placeholder={row.type === '' ? row.name : t(`volumeSources.${row.type}`)}
        value={row.source}
        disabled={disabled || row.type === ''}
        onChange={(event) => set({ source: event.currentTarget.value })}
      />
      <TextInput
        aria-label={t('wizard.mountPath')}
        placeholder={t('wizard.mountPath')}
        value={row.path}
        disabled={disabled}
        error={errorAt(mount)}
        onChange={(event) => set({ path: event.currentTarget.value })}
      />
      <Checkbox
        size="xs"
        label={t('replica.readOnly')}
        checked={row.readOnly}
        disabled={disabled}
        onChange={(event) => set({ readOnly: event.currentTarget.checked })}
      />
    </Row>
  );
}

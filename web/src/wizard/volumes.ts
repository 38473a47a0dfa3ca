// Volumes of a pod together with where its training container mounts them. Pure.

import type { KindInfo } from '../api/contract.gen';
import type { Change } from './manifest';
import { containerPath, podPath, type RoleForm, text, tree, trees } from './projection';

/** The field of each type of volume that says what it is. */
export const SOURCES = {
  persistentVolumeClaim: 'claimName',
  hostPath: 'path',
  emptyDir: 'sizeLimit',
  configMap: 'name',
  secret: 'secretName',
} as const;
export type VolumeType = keyof typeof SOURCES;
export const VOLUME_TYPES = Object.keys(SOURCES) as VolumeType[];

export interface VolumeRow {
  readonly name: string;
  /** Empty: the form does not know this type. */
  readonly type: VolumeType | '';
  readonly source: string;
  readonly path: string;
  readonly readOnly: boolean;
  /** An emptyDir in memory at /dev/shm, which has a field of its own. */
  readonly sharedMemory: boolean;
  readonly volume: number;
  readonly mount: number;
}

const SHARED_MEMORY = '/dev/shm';

function allRows(role: RoleForm): VolumeRow[] {
  const volumes = trees(role.pod.volumes);
  return trees(role.main.volumeMounts).map((mount, index) => {
    const at = volumes.findIndex((each) => each.name === mount.name);
    const volume = volumes[at] ?? {};
    const type = VOLUME_TYPES.find((each) => volume[each] !== undefined) ?? '';
    return {
      name: text(mount.name),
      type,
      source: type === '' ? '' : text(tree(volume[type])[SOURCES[type]]),
      path: text(mount.mountPath),
      readOnly: mount.readOnly === true,
      sharedMemory: text(mount.mountPath) === SHARED_MEMORY && text(tree(volume.emptyDir).medium) === 'Memory',
      volume: at,
      mount: index,
    };
  });
}

export function volumeRows(role: RoleForm): VolumeRow[] {
  return allRows(role).filter((row) => !row.sharedMemory);
}

export function sharedMemory(role: RoleForm): string {
  return allRows(role).find((row) => row.sharedMemory)?.source ?? '';
}

function volumeOf(name: string, type: VolumeType, source: string): Record<string, unknown> {
  return { name, [type]: source === '' && type === 'emptyDir' ? {} : { [SOURCES[type]]: source } };
}

function freeName(role: RoleForm, wanted: string): string {
  const taken = new Set(trees(role.pod.volumes).map((each) => text(each.name)));
  for (let number = 1; ; number++) {
    const name = number === 1 ? wanted : `${wanted}-${number}`;
    if (!taken.has(name)) return name;
  }
}

function added(kind: KindInfo, role: RoleForm, volume: Record<string, unknown>, path: string): Change[] {
  const mounts = trees(role.main.volumeMounts).length;
  return [
    [[...podPath(kind, role), 'volumes', trees(role.pod.volumes).length], volume],
    [[...containerPath(kind, role), 'volumeMounts', mounts], { name: volume.name, mountPath: path }],
  ];
}

export function addVolume(kind: KindInfo, role: RoleForm, type: VolumeType): Change[] {
  const name = freeName(role, 'data');
  return added(kind, role, volumeOf(name, type, ''), `/${name}`);
}

export function removeVolume(kind: KindInfo, role: RoleForm, row: VolumeRow): Change[] {
  const mounted = trees(role.pod.containers).flatMap((each) => trees(each.volumeMounts));
  const unused = mounted.filter((each) => each.name === row.name).length === 1;
  return [
    [[...containerPath(kind, role), 'volumeMounts', row.mount], undefined],
    ...(unused && row.volume >= 0 ? [[[...podPath(kind, role), 'volumes', row.volume], undefined] as const] : []),
  ];
}

export function changeVolume(kind: KindInfo, role: RoleForm, row: VolumeRow, part: Partial<VolumeRow>): Change[] {
  const volume = [...podPath(kind, role), 'volumes', row.volume];
  const mount = [...containerPath(kind, role), 'volumeMounts', row.mount];
  const changes: Change[] = [];
  if (part.path !== undefined) changes.push([[...mount, 'mountPath'], part.path]);
  if (part.readOnly !== undefined) changes.push([[...mount, 'readOnly'], part.readOnly || undefined]);
  if (part.type) changes.push([volume, volumeOf(row.name, part.type, '')]);
  if (part.source !== undefined && row.type !== '') {
    const empty = part.source === '' && row.type === 'emptyDir';
    changes.push([[...volume, row.type, SOURCES[row.type]], empty ? undefined : part.source]);
  }
  return changes;
}

/** An empty size removes the volume: the container runtime's 64 MB remain. */
export function setSharedMemory(kind: KindInfo, role: RoleForm, size: string): Change[] {
  const row = allRows(role).find((each) => each.sharedMemory);
  if (row) return size === '' ? removeVolume(kind, role, row) : changeVolume(kind, role, row, { source: size });
  const volume = { name: freeName(role, 'shm'), emptyDir: { medium: 'Memory', sizeLimit: size } };
  return size === '' ? [] : added(kind, role, volume, SHARED_MEMORY);
}

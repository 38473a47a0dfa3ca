// CPU, memory and devices of a container. Pure.

import type { KindInfo } from '../api/contract.gen';
import type { Change } from './manifest';
import { containerPath, type RoleForm } from './projection';

export const ORDINARY = ['cpu', 'memory', 'ephemeral-storage'];
export const DEVICES = [
  'nvidia.com/gpu',
  'nvidia.com/vgpu',
  'nvidia.com/gpumem',
  'nvidia.com/gpucores',
  'amd.com/gpu',
  'huawei.com/Ascend910',
  'rdma/hca',
];

export interface Preset {
  readonly name: string;
  readonly quantities: Readonly<Record<string, string>>;
}

export const PRESETS: readonly Preset[] = [
  { name: '1 CPU · 2Gi', quantities: { cpu: '1', memory: '2Gi' } },
  { name: '2 CPU · 4Gi', quantities: { cpu: '2', memory: '4Gi' } },
  { name: '4 CPU · 8Gi', quantities: { cpu: '4', memory: '8Gi' } },
  { name: '8 CPU · 32Gi', quantities: { cpu: '8', memory: '32Gi' } },
  { name: '8 CPU · 32Gi · 1 GPU', quantities: { cpu: '8', memory: '32Gi', 'nvidia.com/gpu': '1' } },
  {
    name: '2 CPU · 4Gi · 1 vGPU',
    quantities: { cpu: '2', memory: '4Gi', 'nvidia.com/vgpu': '1', 'nvidia.com/gpumem': '1k' },
  },
];

export function amount(role: RoleForm, name: string): string {
  return role.requests[name] ?? role.limits[name] ?? '';
}

/** The amount of a device that a text means. */
export function amountOf(text: string): string {
  return text === '' ? '0' : text;
}

export function deviceRows(role: RoleForm): [string, string][] {
  return Object.entries({ ...role.requests, ...role.limits }).filter(([name]) => !ORDINARY.includes(name));
}

export function presetOf(role: RoleForm): string | null {
  const devices = Object.fromEntries(deviceRows(role));
  const now = { cpu: amount(role, 'cpu'), memory: amount(role, 'memory'), ...devices };
  const same = (other: Preset['quantities']) =>
    Object.keys(other).length === Object.keys(now).length &&
    Object.entries(now).every(([name, value]) => other[name] === value);
  return PRESETS.find((each) => same(each.quantities))?.name ?? null;
}

/** A limit follows its request as long as both are the same. Extended resources need only the limit. */
export function setAmount(kind: KindInfo, role: RoleForm, name: string, value: string): Change[] {
  const resources = [...containerPath(kind, role), 'resources'];
  const kept = value === '' ? undefined : value;
  const { [name]: request } = role.requests;
  const { [name]: limit } = role.limits;
  const device = !ORDINARY.includes(name);
  const changes: Change[] = [];
  if (!device || request !== undefined) changes.push([[...resources, 'requests', name], kept]);
  if (device || limit === request || request === undefined) changes.push([[...resources, 'limits', name], kept]);
  return changes;
}

export function presetChanges(kind: KindInfo, role: RoleForm, preset: Preset): Change[] {
  const cleared = deviceRows(role)
    .filter(([name]) => preset.quantities[name] === undefined)
    .flatMap(([name]) => setAmount(kind, role, name, ''));
  return [
    ...Object.entries(preset.quantities).flatMap(([name, value]) => setAmount(kind, role, name, value)),
    ...cleared,
  ];
}

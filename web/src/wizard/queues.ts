// The queue of a job: Kueue reads a label, Volcano the scheduling policy. Pure.

import type { Queue } from '../api/contract.gen';
import type { Change, Path } from './manifest';
import { type Form, policyPath, QUEUE, text, tree } from './projection';

export type QueueSystem = Queue['system'];

const LABEL: Path = ['metadata', 'labels', QUEUE];
const POLICY = 'schedulingPolicy';

function volcanoPath(form: Form): Path {
  return [...policyPath(form, POLICY), 'queue'];
}

function volcanoQueue(form: Form): string {
  return text(tree(tree(form.spec.runPolicy)[POLICY] ?? form.spec[POLICY]).queue);
}

/** The queue that the manifest names, or null. A label comes first. */
export function queueOf(form: Form): { system: QueueSystem; name: string } | null {
  const label = form.labels[QUEUE];
  if (label !== undefined) return { system: 'kueue', name: label };
  const name = volcanoQueue(form);
  return name === '' ? null : { system: 'volcano', name };
}

/** The system of a queue by its name. One that is not in the list belongs to the system named before, else to the only system. */
function systemOf(form: Form, name: string, queues: readonly Queue[]): QueueSystem {
  const before = queueOf(form)?.system;
  const systems = queues.filter((each) => each.name === name).map((each) => each.system);
  if (systems.length > 0) return before !== undefined && systems.includes(before) ? before : (systems[0] ?? 'kueue');
  if (before !== undefined) return before;
  return queues.length > 0 && queues.every((each) => each.system === 'volcano') ? 'volcano' : 'kueue';
}

/** Names another queue; empty: none. */
export function setQueue(form: Form, name: string, queues: readonly Queue[]): Change[] {
  const before = queueOf(form);
  const places = { kueue: LABEL, volcano: volcanoPath(form) };
  if (name === '') return before === null ? [] : [[places[before.system], undefined]];
  const system = systemOf(form, name, queues);
  const left: Change[] = before === null || before.system === system ? [] : [[places[before.system], undefined]];
  return [...left, [places[system], name]];
}

/** Changes after which the job names no queue of any system. */
export function withoutQueue(form: Form): Change[] {
  const label: Change[] = form.labels[QUEUE] === undefined ? [] : [[LABEL, undefined]];
  return volcanoQueue(form) === '' ? label : [...label, [volcanoPath(form), undefined]];
}

// What is left of the quota of a queue. Pure.

import type { Queue } from '../api/contract.gen';
import { numberOf, showNumber } from '../wizard/quantities';

/** The queues that jobs of a namespace may name. Those of Volcano belong to no namespace. */
export function queuesOf(queues: readonly Queue[], namespace: string): Queue[] {
  return queues.filter((queue) => queue.namespace === '' || queue.namespace === namespace);
}

/** Such as `4 cpu · 2 nvidia.com/gpu`: over all flavors, without resources that have no limit. */
export function freeQuota(queue: Queue): string {
  const free = new Map<string, number>();
  for (const { resource, quota, used } of queue.resources) {
    const limit = numberOf(quota);
    if (limit !== null) free.set(resource, (free.get(resource) ?? 0) + Math.max(0, limit - (numberOf(used) ?? 0)));
  }
  return [...free].map(([resource, amount]) => `${showNumber(resource, amount)} ${resource}`).join(' · ');
}

// The conditions of a job over time. Pure.

import type { Condition, ConditionChange } from '../api/contract.gen';

/** What the recorder has seen, and what the page knows already: the recorder writes up to a second later. The newest first. */
export function changesOf(recorded: readonly ConditionChange[], present: readonly Condition[]): ConditionChange[] {
  const last = new Map(recorded.map((each) => [each.type, each]));
  const newer = present.flatMap((each) => {
    const known = last.get(each.type);
    if (each.since === null || (known && known.status === each.status && known.reason === each.reason)) return [];
    const { type, status, reason, message, since } = each;
    return [{ type, status, reason, message, time: since }];
  });
  return [...recorded, ...newer]
    .map((change, at) => ({ change, at }))
    .sort((a, b) => Date.parse(b.change.time) - Date.parse(a.change.time) || b.at - a.at)
    .map(({ change }) => change);
}

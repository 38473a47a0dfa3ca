// Parts of a whole: what nodes and queues have, what is asked for, what is used. Pure.

import { numberOf, showNumber } from '../wizard/quantities';

export interface Share {
  readonly resource: string;
  readonly used: string;
  readonly asked: string;
  readonly total: string;
  /** From 0 to 1; null if there is no total. */
  readonly usedPart: number | null;
  readonly askedPart: number | null;
}

type Amounts = Readonly<Record<string, string>>;

function part(amount: string | undefined, total: string | undefined): number | null {
  const all = numberOf(total);
  const some = numberOf(amount);
  return all === null || all === 0 || some === null ? null : Math.min(1, some / all);
}

function shown(resource: string, amount: string | undefined): string {
  const value = numberOf(amount);
  return value === null ? '' : showNumber(resource, value);
}

export function shareOf(resource: string, used: Amounts, asked: Amounts, total: Amounts): Share {
  return {
    resource,
    used: shown(resource, used[resource]),
    asked: shown(resource, asked[resource]),
    total: shown(resource, total[resource]),
    usedPart: part(used[resource], total[resource]),
    askedPart: part(asked[resource], total[resource]),
  };
}

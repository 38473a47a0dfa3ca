// Which element shows which row. Pure.

/**
 * Rows that stay in view keep their element, and with it focus and pointer. The elements of rows that left the view are used for
 * those that entered it: to change a text costs less than to make a row.
 */
export function assignSlots(before: ReadonlyMap<string, number>, ids: readonly string[]): Map<string, number> {
  const wanted = new Set(ids);
  const taken = new Set([...before].filter(([id]) => wanted.has(id)).map(([, slot]) => slot));
  let next = 0;
  const free = () => {
    while (taken.has(next)) next += 1;
    taken.add(next);
    return next;
  };
  return new Map(ids.map((id) => [id, before.get(id) ?? free()]));
}

export interface RowWindow {
  readonly first: number;
  /** One past the last row. */
  readonly end: number;
}

/** All rows have one height: the rows in view follow from the position by a division. */
export function rowsInView(top: number, height: number, row: number, count: number, spare: number): RowWindow {
  const first = Math.max(0, Math.min(Math.floor(top / row) - spare, count - 1));
  return { first, end: Math.min(count, Math.ceil((top + height) / row) + spare) };
}

// Whether a list of lines stays at its end. Pure.

/** What is visible below this does not count as a step back. */
const AT_END = 40;

export interface Scrolled {
  readonly scrollTop: number;
  readonly scrollHeight: number;
  readonly clientHeight: number;
}

/** After a scroll, by whatever means: true at the end, false on the way back from it, null if it says nothing. */
export function followAfter(before: number, { scrollTop, scrollHeight, clientHeight }: Scrolled): boolean | null {
  const distance = scrollHeight - scrollTop - clientHeight;
  if (scrollTop < before && distance > AT_END) return false;
  return distance <= 1 ? true : null;
}

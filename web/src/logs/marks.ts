import type { Span, Style } from './terminalLine';

export interface MarkedSpan extends Span {
  readonly marked: boolean;
}

/** Cuts the spans of a line where a match begins and ends. A match may reach over several spans. */
export function marked(spans: readonly Span[], matcher: RegExp | null): MarkedSpan[] {
  const ranges = matcher === null ? [] : matches(spans.map((span) => span.text).join(''), matcher);
  if (ranges.length === 0) return spans.map((span) => ({ ...span, marked: false }));
  const result: MarkedSpan[] = [];
  let offset = 0;
  for (const span of spans) {
    cut(span.text, span.style, offset, ranges, result);
    offset += span.text.length;
  }
  return result;
}

const MOST = 200;

function matches(text: string, matcher: RegExp): [number, number][] {
  const ranges: [number, number][] = [];
  for (const match of text.matchAll(matcher)) {
    if (match[0] !== '') ranges.push([match.index, match.index + match[0].length]);
    if (ranges.length >= MOST) break;
  }
  return ranges;
}

function cut(
  text: string,
  style: Style,
  offset: number,
  ranges: readonly [number, number][],
  result: MarkedSpan[],
): void {
  let at = 0;
  for (const [start, end] of ranges) {
    const from = Math.max(start - offset, at);
    const to = Math.min(end - offset, text.length);
    if (to <= at || from >= text.length) continue;
    if (from > at) result.push({ text: text.slice(at, from), style, marked: false });
    result.push({ text: text.slice(from, to), style, marked: true });
    at = to;
  }
  if (at < text.length) result.push({ text: text.slice(at), style, marked: false });
}

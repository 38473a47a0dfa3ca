// The consensus view of logs: a line that several replicas print is shown once, with what differs between them. A replica whose
// numbers stand out is shown by itself. Pure.

import type { LogLine } from '../api/contract.gen';

export interface ConsensusLine extends LogLine {
  /** The replicas that agree; one for a line of a single replica. */
  readonly replicas: readonly string[];
  readonly odd: boolean;
}

/** Older lines are not compared: the view stays fast whatever the window has. */
export const COMPARED = 20_000;
const NUMBER = /[-+]?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|\.\d+)|\b(?:nan|inf)\b/gi;
const STEP = /\b(?:step|epoch|iter(?:ation)?|batch|global_step)\b\D{0,3}(\d+)/gi;
// biome-ignore lint/suspicious/noControlCharactersInRegex: ANSI sequences begin with escape.
const ANSI = /\u001b\[[0-9;?]*[ -/]*[@-~]/g;
/** Fewer replicas say too little about which number stands out. */
const ENOUGH = 4;
const FAR = 8;

interface Group {
  readonly lines: Map<string, LogLine>;
}

function slots(text: string): { template: string; numbers: string[] } {
  const numbers: string[] = [];
  const template = text.replace(NUMBER, (number) => {
    numbers.push(number);
    return '\u0000';
  });
  return { template, numbers };
}

/** Lines belong together if they have the same words and the same step, or, without a step, are the same occurrence. */
function grouped(lines: readonly LogLine[]): Group[] {
  const groups = new Map<string, Group>();
  const seen = new Map<string, number>();
  for (const line of lines) {
    const text = line.text.replace(ANSI, '');
    const { template } = slots(text);
    const steps = [...text.matchAll(STEP)].map((found) => found[1]).join('/');
    const base = `${template}\u0001${steps}`;
    const count = seen.get(`${line.source}\u0001${base}`) ?? 0;
    seen.set(`${line.source}\u0001${base}`, count + 1);
    const key = `${base}\u0001${count}`;
    const group = groups.get(key);
    if (group) group.lines.set(line.replica, line);
    else groups.set(key, { lines: new Map([[line.replica, line]]) });
  }
  return [...groups.values()];
}

const value = (text: string | undefined) => (text !== undefined && /\d/.test(text) ? Number(text) : Number.NaN);

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

/** Not a number among numbers, or far from all others. */
function standsOut(values: readonly number[], index: number): boolean {
  const finite = values.filter(Number.isFinite);
  const own = values[index] ?? Number.NaN;
  if (!Number.isFinite(own)) return finite.length > values.length / 2;
  if (finite.length < ENOUGH) return false;
  const middle = median(finite);
  const spread = median(finite.map((each) => Math.abs(each - middle)));
  return Math.abs(own - middle) > FAR * Math.max(spread, Math.abs(middle) * 0.01, 1e-12);
}

function digits(text: string): number {
  return /e/i.test(text) ? 6 : (text.split('.')[1]?.length ?? 0);
}

/** `2.301 ±0.004`, or the number itself if all agree. */
function together(numbers: readonly string[]): string {
  const [first = ''] = numbers;
  if (numbers.every((each) => each === first)) return first;
  const values = numbers.map(value);
  if (!values.every(Number.isFinite)) return [...new Set(numbers)].join('|');
  const places = Math.max(...numbers.map(digits));
  const mean = values.reduce((sum, each) => sum + each, 0) / values.length;
  const spread = Math.max(...values.map((each) => Math.abs(each - mean)));
  return `${mean.toFixed(places)} ±${spread.toFixed(places)}`;
}

function folded(group: Group): ConsensusLine[] {
  const lines = [...group.lines.values()];
  const parts = lines.map((line) => slots(line.text.replace(ANSI, '')));
  const width = parts[0]?.numbers.length ?? 0;
  const columns = Array.from({ length: width }, (_, at) => parts.map((part) => value(part.numbers[at])));
  const odd = lines.map((_, index) => lines.length > 1 && columns.some((column) => standsOut(column, index)));
  const agreeing = lines.filter((_, index) => !odd[index]);
  const kept = parts.filter((_, index) => !odd[index]);
  const alone = (line: LogLine, stands: boolean) => ({ ...line, replicas: [line.replica], odd: stands });
  const result: ConsensusLine[] = [];
  const [first] = agreeing;
  if (first && agreeing.length === 1) result.push(alone(first, false));
  else if (first) {
    let at = 0;
    const text = (kept[0]?.template ?? '').replaceAll('\u0000', () => {
      const number = together(kept.map((part) => part.numbers[at] ?? ''));
      at += 1;
      return number;
    });
    result.push({ ...first, text, replicas: agreeing.map((line) => line.replica), odd: false });
  }
  return [...result, ...lines.filter((_, index) => odd[index]).map((line) => alone(line, true))];
}

/** What the replicas print, each line once, in the order in which it was first printed. */
export function consensus(lines: readonly LogLine[]): ConsensusLine[] {
  return grouped(lines.slice(-COMPARED)).flatMap(folded);
}

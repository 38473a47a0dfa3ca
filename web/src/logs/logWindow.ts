// The lines that the page has, merged by time over all replicas. It grows at the end and forgets at the beginning.

import type { LogBatch, LogLine, LogSource } from '../api/contract.gen';
import { MOST_LINES } from './logSearch';

/** Lines that are forgotten together: moving a million entries for every new line would cost too much. */
const CHUNK = 20_000;

export function follows(a: LogLine, b: LogLine): boolean {
  if (a.source === b.source) return a.sequence >= b.sequence;
  if (a.time === '' || b.time === '') return true;
  return a.time === b.time ? a.source > b.source : a.time > b.time;
}

export class LogWindow {
  lines: LogLine[] = [];
  readonly sources = new Map<string, LogSource>();
  /** Lines that were forgotten at the beginning. */
  dropped = 0;
  /** Lines that the console did not send. */
  skipped = 0;
  /** How many lines of each log have arrived. */
  readonly received = new Map<string, number>();
  private readonly last = new Map<string, string>();
  private readonly names = new Map<string, string>();

  constructor(private readonly limit: number = MOST_LINES) {}

  clear(): void {
    this.lines = [];
    this.sources.clear();
    this.last.clear();
    this.received.clear();
    this.dropped = 0;
    this.skipped = 0;
  }

  add(batch: LogBatch): void {
    for (const source of batch.sources) this.sources.set(source.source, source);
    this.skipped += batch.skipped;
    const fresh = batch.lines.filter((line) => this.isNew(line));
    if (fresh.length === 0) return;
    this.merge(fresh);
    if (this.lines.length > this.limit) {
      const forgotten = this.lines.length - this.limit + Math.min(CHUNK, this.limit >> 1);
      this.lines.splice(0, forgotten);
      this.dropped += forgotten;
    }
  }

  /** Where each log stops, for a subscription that continues. */
  positions(): Record<string, string> {
    return Object.fromEntries(this.last);
  }

  find(source: string, sequence: string): number {
    return this.lines.findIndex((line) => line.source === source && line.sequence === sequence);
  }

  private isNew(line: LogLine): boolean {
    const before = this.last.get(line.source);
    if (before !== undefined && line.sequence <= before) return false;
    this.last.set(line.source, line.sequence);
    this.received.set(line.source, (this.received.get(line.source) ?? 0) + 1);
    return true;
  }

  /** Lines come almost in order: only those after the first that is late are merged. */
  private merge(fresh: readonly LogLine[]): void {
    const first = fresh[0];
    if (first === undefined) return;
    const late: LogLine[] = [];
    while (this.lines.length > 0) {
      const end = this.lines[this.lines.length - 1];
      if (end === undefined || follows(first, end)) break;
      late.push(end);
      this.lines.pop();
    }
    late.reverse();
    let at = 0;
    for (const line of fresh) {
      for (let next = late[at]; next !== undefined && !follows(next, line); next = late[at]) {
        this.lines.push(next);
        at += 1;
      }
      this.lines.push(this.compact(line));
    }
    for (; at < late.length; at++) this.lines.push(late[at] as LogLine);
  }

  /** The names of a million lines are a few strings. */
  private compact(line: LogLine): LogLine {
    line.source = this.name(line.source);
    line.replica = this.name(line.replica);
    return line;
  }

  private name(text: string): string {
    const known = this.names.get(text);
    if (known !== undefined) return known;
    this.names.set(text, text);
    return text;
  }
}

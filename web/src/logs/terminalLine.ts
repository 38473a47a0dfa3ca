// One line of output as a terminal would show it: carriage returns and backspaces move the cursor, later characters overwrite
// earlier ones, ANSI sequences set colours or are dropped. The result is text with styles. It never becomes HTML.

export interface Style {
  readonly color?: number | string;
  readonly background?: number | string;
  readonly bold?: boolean;
  readonly dim?: boolean;
  readonly italic?: boolean;
  readonly underline?: boolean;
}

export interface Span {
  readonly text: string;
  readonly style: Style;
}

const PLAIN: Style = {};

/** Characters of a line that are looked at. A progress bar may redraw itself thousands of times in one line. */
export const LOOKED_AT = 65_536;
/** Columns of a line that are shown. A row is not made of megabytes. */
export const SHOWN = 8_192;

interface Cell {
  char: string;
  style: Style;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the control characters of terminals.
const INTERESTING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;

export function terminalLine(raw: string): Span[] {
  if (!INTERESTING.test(raw)) {
    const shown = raw.length > SHOWN ? `${raw.slice(0, SHOWN)}…` : raw;
    return shown === '' ? [] : [{ text: shown, style: PLAIN }];
  }
  return spans(draw(part(raw)));
}

export function plainText(raw: string): string {
  return terminalLine(raw)
    .map((span) => span.text)
    .join('');
}

/** Of a line that redraws itself, the end is what the terminal shows; of any other, the beginning. */
function part(raw: string): string {
  if (raw.length <= LOOKED_AT) return raw;
  const tail = raw.slice(-LOOKED_AT);
  const firstReturn = tail.indexOf('\r');
  return firstReturn >= 0 && firstReturn < tail.length - 1 ? tail.slice(firstReturn) : raw.slice(0, LOOKED_AT);
}

class Line {
  private readonly cells: Cell[] = [];
  private cursor = 0;
  style: Style = PLAIN;

  put(char: string): void {
    if (this.cursor < SHOWN) {
      while (this.cells.length < this.cursor) this.cells.push({ char: ' ', style: PLAIN });
      this.cells[this.cursor] = { char, style: this.style };
    }
    this.cursor += 1;
  }

  move(column: number): void {
    this.cursor = Math.max(0, Math.min(column, SHOWN));
  }

  moveBy(columns: number): void {
    this.move(this.cursor + columns);
  }

  /** ESC [ K: 0 erases from the cursor, 1 up to the cursor, 2 the whole line. */
  erase(mode: number): void {
    if (mode === 0) this.cells.length = Math.min(this.cells.length, this.cursor);
    else if (mode === 2) this.cells.length = 0;
    else if (mode === 1)
      for (let i = 0; i <= this.cursor && i < this.cells.length; i++) this.cells[i] = { char: ' ', style: PLAIN };
  }

  finished(): Cell[] {
    return this.cells;
  }
}

function draw(raw: string): Cell[] {
  const line = new Line();
  let at = 0;
  while (at < raw.length) {
    const code = raw.charCodeAt(at);
    if (code === 0x1b || code === 0x9b) {
      at = escapeSequence(raw, at, line);
    } else {
      const char = String.fromCodePoint(raw.codePointAt(at) ?? 0);
      control(code, char, line);
      at += char.length;
    }
  }
  return line.finished();
}

function control(code: number, char: string, line: Line): void {
  if (code === 0x0d) line.move(0);
  else if (code === 0x08) line.moveBy(-1);
  else if (code === 0x09) line.put('\t');
  else if (code === 0x07) return;
  else if (code < 0x20) line.put(String.fromCharCode(0x2400 + code));
  else if (code === 0x7f) line.put('\u2421');
  else if (code > 0x7f && code < 0xa0) line.put('\ufffd');
  else line.put(char);
}

/** Reads one escape sequence and returns the position after it. An unknown one is dropped, as terminals do. */
function escapeSequence(raw: string, start: number, line: Line): number {
  let at = start + 1;
  const introducer = raw.charCodeAt(start) === 0x9b ? '[' : raw[at];
  if (raw.charCodeAt(start) !== 0x9b) at += 1;
  if (introducer === '[') return controlSequence(raw, at, line);
  if (introducer === ']' || introducer === 'P' || introducer === '_' || introducer === '^') return stringEnd(raw, at);
  if (introducer === '(' || introducer === ')' || introducer === '#') return at + 1;
  return at;
}

function stringEnd(raw: string, start: number): number {
  for (let at = start; at < raw.length; at++) {
    const code = raw.charCodeAt(at);
    if (code === 0x07 || code === 0x9c) return at + 1;
    if (code === 0x1b && raw[at + 1] === '\\') return at + 2;
  }
  return raw.length;
}

function controlSequence(raw: string, start: number, line: Line): number {
  let at = start;
  while (at < raw.length && at - start < 256) {
    const code = raw.charCodeAt(at);
    if (code >= 0x40 && code <= 0x7e) {
      apply(raw.slice(start, at), raw[at] ?? '', line);
      return at + 1;
    }
    if (code < 0x20) return at;
    at += 1;
  }
  return at;
}

function apply(parameters: string, command: string, line: Line): void {
  const numbers = parameters.split(/[;:]/).map((each) => (each === '' ? 0 : Number(each)));
  const first = numbers[0] || 0;
  if (command === 'm') line.style = styled(line.style, numbers);
  else if (command === 'K') line.erase(first);
  else if (command === 'G') line.move(first - 1);
  else if (command === 'C') line.moveBy(first || 1);
  else if (command === 'D') line.moveBy(-(first || 1));
}

function styled(before: Style, numbers: readonly number[]): Style {
  let style: Style = before;
  for (let i = 0; i < numbers.length; i++) {
    const code = numbers[i] ?? 0;
    if (code === 38 || code === 48) {
      const [color, used] = extendedColor(numbers, i + 1);
      i += used;
      if (color !== undefined) style = { ...style, [code === 38 ? 'color' : 'background']: color };
    } else {
      style = simpleStyle(style, code);
    }
  }
  return style;
}

function extendedColor(numbers: readonly number[], at: number): [number | string | undefined, number] {
  if (numbers[at] === 5) return [numbers[at + 1], 2];
  if (numbers[at] === 2) {
    const parts = numbers.slice(at + 1, at + 4);
    const valid = parts.length === 3 && parts.every((each) => Number.isInteger(each) && each >= 0 && each <= 255);
    return [valid ? `rgb(${parts.join(' ')})` : undefined, 4];
  }
  return [undefined, 0];
}

function simpleStyle(style: Style, code: number): Style {
  if (code === 0) return PLAIN;
  if (code === 1) return { ...style, bold: true };
  if (code === 2) return { ...style, dim: true };
  if (code === 3) return { ...style, italic: true };
  if (code === 4) return { ...style, underline: true };
  if (code === 22) return without(style, 'bold', 'dim');
  if (code === 23) return without(style, 'italic');
  if (code === 24) return without(style, 'underline');
  if (code === 39) return without(style, 'color');
  if (code === 49) return without(style, 'background');
  if (code >= 30 && code <= 37) return { ...style, color: code - 30 };
  if (code >= 40 && code <= 47) return { ...style, background: code - 40 };
  if (code >= 90 && code <= 97) return { ...style, color: code - 82 };
  if (code >= 100 && code <= 107) return { ...style, background: code - 92 };
  return style;
}

function without(style: Style, ...names: (keyof Style)[]): Style {
  const rest: Record<string, unknown> = { ...style };
  for (const name of names) delete rest[name];
  return rest as Style;
}

function spans(cells: readonly Cell[]): Span[] {
  const result: { text: string; style: Style }[] = [];
  for (const cell of cells) {
    const last = result[result.length - 1];
    if (last && last.style === cell.style) last.text += cell.char;
    else result.push({ text: cell.char, style: cell.style });
  }
  return result;
}

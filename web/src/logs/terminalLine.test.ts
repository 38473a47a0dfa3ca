import { describe, expect, test } from 'vitest';
import { plainText, SHOWN, terminalLine } from './terminalLine';

const ESC = '\u001b';

describe('a line is shown as a terminal shows it', () => {
  test.each([
    ['text without control characters stays', 'step 1 loss 0.5', 'step 1 loss 0.5'],
    ['a progress bar shows its last state', ' 10%|#   |\r 50%|##  |\r100%|####|', '100%|####|'],
    ['a shorter redraw leaves the rest of the longer one', 'downloading 100\rdone', 'doneloading 100'],
    ['erase to the end of the line', `downloading 100\rdone${ESC}[K`, 'done'],
    ['erase of the whole line', `abc${ESC}[2K\rx`, 'x'],
    ['backspace overwrites', 'abc\b\bX', 'aXc'],
    ['cursor to a column', `abcdef${ESC}[3GX`, 'abXdef'],
    ['a trailing carriage return erases nothing', 'loss 0.5\r', 'loss 0.5'],
    ['titles of windows are dropped', `${ESC}]0;title\u0007text`, 'text'],
    ['hyperlinks keep their text', `${ESC}]8;;http://a.example${ESC}\\link${ESC}]8;;${ESC}\\`, 'link'],
    ['binary becomes visible', 'a\u0000b\u0001', 'a␀b␁'],
    ['an unfinished sequence ends with the line', `abc${ESC}[31`, 'abc'],
    ['an escape at the end is dropped', `abc${ESC}`, 'abc'],
    ['characters outside the first plane stay whole', 'é中🚀', 'é中🚀'],
    ['HTML stays text', '<script>alert(1)</script>', '<script>alert(1)</script>'],
  ])('%s', (_, raw, shown) => {
    expect(plainText(raw)).toBe(shown);
  });
});

describe('colours', () => {
  test('basic, bright, 256 and true colours', () => {
    const line = terminalLine(`${ESC}[31ma${ESC}[92mb${ESC}[38;5;208mc${ESC}[38;2;1;2;3md${ESC}[0me`);
    expect(line.map((span) => span.style.color)).toEqual([1, 10, 208, 'rgb(1 2 3)', undefined]);
  });

  test('a colour outside its range is ignored', () => {
    expect(terminalLine(`${ESC}[38;2;999;0;0mx`)[0]?.style).toEqual({});
  });

  test('bold ends with 22', () => {
    expect(terminalLine(`${ESC}[1ma${ESC}[22mb`).map((span) => span.style.bold)).toEqual([true, undefined]);
  });
});

describe('hostile lines stay small', () => {
  test('ten million characters', () => {
    expect(plainText('x'.repeat(10_000_000)).length).toBe(SHOWN + 1);
  });

  test('a cursor far to the right makes no cells', () => {
    expect(plainText(`${ESC}[999999999Cx`).length).toBeLessThanOrEqual(SHOWN);
  });

  test('a million redraws show the last', () => {
    const bar = Array.from({ length: 1_000_000 }, (_, i) => `\r${i}`).join('');
    expect(plainText(bar)).toBe('999999');
  });

  test('a bomb of sequences', () => {
    expect(plainText(`${`${ESC}[1;31m`.repeat(200_000)}x`).length).toBeLessThanOrEqual(SHOWN);
  });
});

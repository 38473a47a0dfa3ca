import type { LogLine } from '../api/contract.gen';
import { clockOfLine } from '../format/time';
import { plainText } from './terminalLine';

/** Says the line to which the keyboard has moved: the rows are not elements that can have the focus. */
export function CurrentLine({ line }: { readonly line: LogLine | undefined }) {
  return (
    <span className="hidden-text" role="status">
      {line && `${clockOfLine(line.time)} ${line.replica} ${plainText(line.text)}`}
    </span>
  );
}

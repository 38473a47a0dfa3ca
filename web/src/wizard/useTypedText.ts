import { useState } from 'react';

export interface TypedText {
  readonly text: string;
  readonly type: (text: string) => void;
  /** The field is left: it shows the value. */
  readonly leave: () => void;
}

/** What a field shows: the text as it is typed, as long as it means the value. */
export function shownText(text: string, value: string, meaning: (text: string) => string): string {
  return meaning(text) === value ? text : value;
}

/** The text of a field that keeps only what the text means. If the field showed its value, spaces and slashes could not be typed. */
export function useTypedText(
  value: string,
  meaning: (text: string) => string,
  change: (value: string) => void,
): TypedText {
  const [text, setText] = useState(value);
  return {
    text: shownText(text, value, meaning),
    type: (typed) => {
      setText(typed);
      change(meaning(typed));
    },
    leave: () => setText(value),
  };
}

import { Textarea } from '@mantine/core';
import { useEffect, useState } from 'react';
import { joinWords, splitWords } from './shellWords';

interface Props {
  readonly label: string;
  readonly description?: string;
  readonly words: readonly string[];
  readonly disabled: boolean;
  readonly error?: string | undefined;
  readonly onChange: (words: string[]) => void;
}

/** A command line. The text stays as it is typed, as long as it means the same words. */
export function Words({ label, description, words, disabled, error, onChange }: Props) {
  const [text, setText] = useState(() => joinWords(words));
  const meaning = JSON.stringify(words);
  // biome-ignore lint/correctness/useExhaustiveDependencies: other words are the reason to write the text anew.
  useEffect(() => {
    if (JSON.stringify(splitWords(text)) !== meaning) setText(joinWords(words));
  }, [meaning]);
  return (
    <Textarea
      label={label}
      description={description}
      value={text}
      disabled={disabled}
      error={error}
      autosize
      minRows={1}
      maxRows={8}
      classNames={{ input: 'mono' }}
      spellCheck={false}
      onChange={(event) => {
        setText(event.currentTarget.value);
        onChange(splitWords(event.currentTarget.value));
      }}
    />
  );
}

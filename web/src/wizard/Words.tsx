import { Textarea } from '@mantine/core';
import { joinWords, splitWords } from './shellWords';
import { useTypedText } from './useTypedText';

interface Props {
  readonly label: string;
  readonly description?: string;
  readonly words: readonly string[];
  readonly disabled: boolean;
  readonly error?: string | undefined;
  readonly onChange: (words: string[]) => void;
  readonly onFocus?: () => void;
  readonly onBlur?: () => void;
}

const meaning = (text: string) => joinWords(splitWords(text));

/** A command line. The text stays as it is typed, as long as it means the same words. */
export function Words({ label, description, words, disabled, error, onChange, onFocus, onBlur }: Props) {
  const { text, type } = useTypedText(joinWords(words), meaning, (line) => onChange(splitWords(line)));
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
      onFocus={onFocus}
      onBlur={onBlur}
      onChange={(event) => type(event.currentTarget.value)}
    />
  );
}

// A command line as a list of words, and back: what a shell would pass to the program, without expansion of anything.

export function splitWords(text: string): string[] {
  const words: string[] = [];
  let word: string | null = null;
  let quote = '';
  for (let at = 0; at < text.length; at++) {
    const char = text[at] ?? '';
    const next = text[at + 1] ?? '';
    if (quote === "'" && char !== "'") word = (word ?? '') + char;
    else if (char === '\\' && next === '\n') at += 1;
    else if (char === '\\' && next !== '' && (quote === '' || '"\\$`'.includes(next))) {
      word = (word ?? '') + next;
      at += 1;
    } else if (quote !== '' && char === quote) quote = '';
    else if (quote === '' && (char === '"' || char === "'")) {
      quote = char;
      word ??= '';
    } else if (quote === '' && /\s/.test(char)) {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? '') + char;
  }
  if (word !== null) words.push(word);
  return words;
}

export function joinWords(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./^-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ');
}

import { Fragment } from 'react';
import { partsOf, useSay } from './say';

/** A sentence of the console's server by itself, in the language of the page. What it quotes as code is shown as code. */
export function Sentence({ text }: { readonly text: string }) {
  const say = useSay();
  return partsOf(say(text)).map((part) =>
    part.code ? <code key={part.at}>{part.text}</code> : <Fragment key={part.at}>{part.text}</Fragment>,
  );
}

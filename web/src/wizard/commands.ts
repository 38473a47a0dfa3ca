// The same job as a command. Pure.

import type { Capabilities } from '../api/contract.gen';
import { joinWords } from './shellWords';

export type Program = 'traincrew' | 'kubectl';

/** The words before the manifest, which is the standard input of the command. */
function wordsOf(
  program: Program,
  { mode, context }: Pick<Capabilities, 'mode' | 'context'>,
  namespace: string,
): string {
  const named = context === '' || mode === 'embedded' ? [] : ['--context', context];
  const place = namespace === '' ? [] : ['-n', namespace];
  if (program === 'traincrew') return joinWords(['traincrew', 'run', ...named, ...place, '-']);
  const local = mode === 'embedded' ? ' --kubeconfig "$(traincrew kubeconfig)"' : '';
  return `kubectl${local} ${joinWords([...named, ...place, 'create', '-f', '-'])}`;
}

/** A here document: no character of the manifest means anything to the shell. namespace: empty if the manifest has one. */
export function commandOf(
  program: Program,
  cluster: Pick<Capabilities, 'mode' | 'context'>,
  namespace: string,
  manifest: string,
): string {
  return heredoc(wordsOf(program, cluster, namespace), manifest);
}

export function heredoc(words: string, manifest: string): string {
  const lines = manifest.split('\n');
  let end = 'EOF';
  while (lines.includes(end)) end += '_';
  return `${words} <<'${end}'\n${manifest.replace(/\n*$/, '\n')}${end}\n`;
}

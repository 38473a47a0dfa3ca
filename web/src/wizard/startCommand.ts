// The start command of a container, and what runs before it: a runtime environment first in PATH, and a command that installs.
// Both are a short shell script that ends with `exec "$@"`: the start command keeps its words, and gets the signals. Pure.

import type { RoleForm } from './projection';
import { joinWords, splitWords } from './shellWords';

export type Shell = '' | 'sh' | 'bash';

export interface StartCommand {
  /** A directory with `bin`, such as a virtual environment in a volume. */
  readonly environment: string;
  readonly install: string;
  /** The start command is a script of this shell. Empty: a program with its arguments. */
  readonly shell: Shell;
  readonly script: string;
  readonly command: readonly string[];
  readonly args: readonly string[];
}

const BEGIN = 'set -e\n';
const END = 'exec "$@"';
const PATH_LINE = /^export PATH=(.+)\/bin:"\$PATH"$/;

function shellOf(words: readonly string[]): Shell {
  const program = words[0]?.split('/').at(-1);
  return (program === 'sh' || program === 'bash') && words[1] === '-c' ? program : '';
}

/** asProgram: the words are shown as words, even if they are those of a shell with a script. */
export function readStart(
  { command, args }: Pick<RoleForm, 'command' | 'args'>,
  asProgram: boolean = false,
): StartCommand {
  const script = command[2] ?? '';
  const before = shellOf(command) !== '' && command.length >= 4 && script.startsWith(BEGIN) && script.endsWith(END);
  const lines = before ? script.slice(BEGIN.length, -END.length).trimEnd().split('\n') : [];
  const environment = unquoted(PATH_LINE.exec(lines[0] ?? '')?.[1] ?? '');
  const program = before ? command.slice(4) : command;
  const shell = program.length === 3 && args.length === 0 && !asProgram ? shellOf(program) : '';
  return {
    environment,
    install: lines.slice(environment === '' ? 0 : 1).join('\n'),
    shell,
    script: shell === '' ? '' : (program[2] ?? ''),
    command: shell === '' ? program : [],
    args,
  };
}

/** The words of `command` and `args` of the container; undefined leaves a key out. */
export function writeStart(start: StartCommand): { command: string[] | undefined; args: string[] | undefined } {
  const program = start.shell === '' ? [...start.command] : [start.shell, '-c', start.script];
  const script = preparation(start);
  const command = script === '' ? program : ['sh', '-c', `${BEGIN}${script}\n${END}`, 'sh', ...program];
  const args = start.shell === '' ? [...start.args] : [];
  return { command: command.length > 0 ? command : undefined, args: args.length > 0 ? args : undefined };
}

/** What runs before the start command, without the start command. */
export function preparation({ environment, install }: Pick<StartCommand, 'environment' | 'install'>): string {
  const path = environment === '' ? [] : [`export PATH=${joinWords([environment])}/bin:"$PATH"`];
  const kept = installOf(install);
  return [...path, ...(kept === '' ? [] : [kept])].join('\n');
}

/** The install command that a text means. */
export function installOf(text: string): string {
  return text.trimEnd();
}

/** The directory that a text means. */
export function directoryOf(text: string): string {
  return text.replace(/\/+$/, '');
}

function unquoted(word: string): string {
  return splitWords(word)[0] ?? '';
}

/** The same command as a program or as a script. */
export function withShell(start: StartCommand, shell: Shell): StartCommand {
  if (shell !== '' && start.shell !== '') return { ...start, shell };
  if (shell === '') return { ...start, shell, script: '', command: splitWords(start.script), args: [] };
  return { ...start, shell, script: joinWords([...start.command, ...start.args]), command: [], args: [] };
}

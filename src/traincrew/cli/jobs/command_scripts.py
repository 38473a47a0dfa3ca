"""The files without which a command cannot start: its program, and the scripts of interpreters."""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Sequence


@dataclasses.dataclass(frozen=True)
class Interpreter:
    program: str
    """A pattern of its name."""
    code: tuple[str, ...]
    """Options after which no script follows: the code is an argument, a module or standard input."""
    valued: tuple[str, ...] = ()
    """Options whose value is the next word."""


SHELL = Interpreter(r"(?:ba|da|a|z|k)?sh", ("-s", "-"), ("-o", "+o", "-O", "+O", "--rcfile", "--init-file"))
INTERPRETERS = (
    Interpreter(r"python[\d.]*", ("-c", "-m", "-"), ("-W", "-X")),
    SHELL,
    Interpreter(r"perl[\d.]*", ("-e", "-E", "-"), ("-I",)),
    Interpreter(r"ruby[\d.]*", ("-e", "-"), ("-I", "-r")),
    Interpreter(r"node(?:js)?", ("-e", "-p", "--eval", "--print", "-"), ("-r", "--require", "--import")),
    Interpreter(r"Rscript", ("-e",)),
    Interpreter(r"julia", ("-e", "-E", "-"), ("-L", "-J", "-p", "-t")),
)
SUFFIXES = (".py", ".sh", ".pl", ".rb", ".js", ".R", ".jl")
"""Of the scripts of launchers, whose options are many."""
LAUNCHERS = ("torchrun", "mpirun", "mpiexec", "horovodrun", "accelerate", "deepspeed", "env", "exec", "nohup", "time")
OPERATORS = re.compile(r"[;&|<>$`\n(){}]")


def find(command: Sequence[str]) -> list[str]:
    """Not those that the command may create itself."""
    if not command:
        return []
    program, name = command[0], command[0].rpartition("/")[2]
    found = [program] if "/" in program else []
    interpreter = next((each for each in INTERPRETERS if re.fullmatch(each.program, name)), None)
    if interpreter is not None:
        return [*found, *_script(interpreter, command[1:])]
    if name in LAUNCHERS:
        return [*found, *[word for word in command[1:] if word.endswith(SUFFIXES) and not word.startswith("-")][:1]]
    return found


def _script(interpreter: Interpreter, words: Sequence[str]) -> list[str]:
    for index, word in enumerate(words):
        if interpreter is SHELL and re.fullmatch(r"-[a-z]*c[a-z]*", word):
            return _of_code(words[index + 1]) if index + 1 < len(words) else []
        if word in interpreter.code:
            return []
        is_value = index > 0 and words[index - 1] in interpreter.valued
        if not word.startswith(("-", "+")) and not is_value:
            return [word]
    return []


def _of_code(code: str) -> list[str]:
    """Of a single command. Several commands, redirections and substitutions may create the file."""
    if OPERATORS.search(code):
        return []
    try:
        return find(shlex.split(code))
    except ValueError:
        return []

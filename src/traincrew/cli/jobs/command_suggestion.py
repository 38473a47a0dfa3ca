"""The command that was meant by `traincrew run train.py` and `traincrew run python train.py`."""

from __future__ import annotations

import os
import pathlib
import shlex
import shutil
from collections.abc import Sequence
from typing import NamedTuple

from traincrew.cli.jobs import command_manifest, command_needs, command_scripts, python_environment
from traincrew.kinds import KINDS, job_from_command

PROGRAMS = {".py": "python", ".sh": "bash"}
"""By suffix: the program that runs a script."""
ABOVE_FRAMEWORKS = frozenset(("horovod", "mpi4py"))
"""Modules of scripts that also import a framework. They decide the kind alone."""


def suggest(words: Sequence[str], options: Sequence[str] = ()) -> str:
    """An error message with the complete command, if the words are a command and not manifests; else empty.

    options: those of the job that the user has given. Without them, a job with two workers is suggested."""
    first = pathlib.Path(words[0])
    if first.suffix in PROGRAMS:
        what, command = f"{first} is a script, not a manifest", (_program(first.suffix), *words)
    elif not first.exists() and shutil.which(words[0]):
        what, command = f"{first} is a program, not a manifest", tuple(words)
    elif not first.exists() and not first.suffix and len(words) > 1 and not any(map(os.path.exists, words)):
        what, command = f"{first}: no such file", tuple(words)
    else:
        return ""
    kind = framework_kind(command)
    others = "" if kind else f"\nKIND is one of {', '.join(each.kind for each in KINDS)}."
    suggested = shlex.join(("traincrew", "run", "--kind", kind or "KIND", *(options or ("--workers", "2")), "--", *command))
    return f"{what}. To run it as a job{'' if options else ' with two workers'}, use:\n  {suggested}{others}"


def given_options(argv: Sequence[str], words: Sequence[str]) -> list[str]:
    """The options before the words in the command line of `traincrew run`. Empty: they are between the words."""
    options = list(argv[2 : len(argv) - len(words)])
    return [each for each in options if each != "--"] if list(argv[len(argv) - len(words) :]) == list(words) else []


def is_script(word: str) -> bool:
    return pathlib.Path(word).suffix in PROGRAMS


def with_interpreter(script: str) -> str:
    """The command that runs a script."""
    return f"{_program(pathlib.Path(script).suffix)} {shlex.quote(script)}"


def _program(suffix: str) -> str:
    """The user's own Python may only be called python3, as on Debian."""
    program = PROGRAMS[suffix]
    if program != "python" or (shutil.which(program) and not python_environment.only_of_traincrew(program, os.environ)):
        return program
    return "python3"


class KindGuess(NamedTuple):
    """A kind that the user has not named."""

    kind: str
    why: str = ""
    """Such as `train.py imports torch`. Empty: it is the kind that starts any Python script."""

    def __str__(self) -> str:
        return f"{with_article(self.kind)}, because {self.why}" if self.why else with_article(self.kind)


def guess(command: Sequence[str], *, elastic: bool) -> KindGuess | None:
    """The kind of a job that runs a Python script: that of the framework which the script imports. None: the command is not a
    Python script, or its imports do not show it. An elastic job of any script has a kind: the first that starts any script."""
    if not job_from_command.is_python(tuple(command)):
        return None
    found = framework_kinds(command)
    if len(found) == 1:
        return found[0]
    if elastic:
        return KindGuess(framework_kind(command) or command_manifest.elastic_kinds(idle=True)[0])
    return None


def missing_kind(command: Sequence[str], flag: str) -> str:
    """The message for a command whose kind is needed for the flag, and cannot be guessed."""
    found = [each.kind for each in framework_kinds(command)]
    kinds = found or [each.kind for each in KINDS]
    several = f" The script imports frameworks of several kinds: {', '.join(found)}." if len(found) > 1 else ""
    others = f" (or {', '.join(kinds[1:])})" if kinds[1:] else ""
    return f"{flag} requires --kind.{several} Add --kind {kinds[0]}{others}."


def framework_kind(command: Sequence[str]) -> str:
    """The kind of the framework that the script imports. Empty: it imports none."""
    return next((each.kind for each in framework_kinds(command)), "")


def framework_kinds(command: Sequence[str]) -> list[KindGuess]:
    """The kinds of the frameworks that the script imports. Later kinds come first."""
    modules = command_needs.find([command], os.getcwd()).modules
    scripts = command_scripts.find(command)
    script = os.path.basename(scripts[-1]) if scripts else "the command"
    imported = [(kind.kind, [name for name in kind.modules if name in modules]) for kind in reversed(KINDS)]
    above = [(kind, names) for kind, names in imported if set(names) & ABOVE_FRAMEWORKS]
    return [KindGuess(kind, f"{script} imports {names[0]}") for kind, names in above or imported if names]


def with_article(kind: str) -> str:
    """`an MPIJob`: initials are spelt, and M is pronounced with a vowel."""
    return f"{'an' if kind[:2].isupper() and kind[0] in 'AEFHILMNORSX' else 'a'} {kind}"

"""The command that was meant by `traincrew run train.py` and `traincrew run python train.py`."""

from __future__ import annotations

import os
import pathlib
import shlex
import shutil
from collections.abc import Sequence

from traincrew.cli.jobs import command_manifest, command_needs
from traincrew.kinds import KINDS, job_from_command

PROGRAMS = {".py": "python", ".sh": "bash"}
"""By suffix: the program that runs a script."""


def suggest(words: Sequence[str]) -> str:
    """An error message with the complete command, if the words are a command and not manifests; else empty."""
    first = pathlib.Path(words[0])
    if first.suffix in PROGRAMS:
        what, command = f"{first} is a script, not a manifest", (PROGRAMS[first.suffix], *words)
    elif not first.exists() and shutil.which(words[0]):
        what, command = f"{first} is a program, not a manifest", tuple(words)
    elif not first.exists() and not first.suffix and len(words) > 1 and not any(map(os.path.exists, words)):
        what, command = f"{first}: no such file", tuple(words)
    else:
        return ""
    kind = framework_kind(command)
    others = "" if kind else f"\nKIND is one of {', '.join(each.kind for each in KINDS)}."
    suggested = shlex.join(("traincrew", "run", "--kind", kind or "KIND", "--workers", "2", "--", *command))
    return f"{what}. To run it as a job with two workers, use:\n  {suggested}{others}"


def elastic_kind(command: Sequence[str]) -> str:
    """The kind of an elastic job that runs a Python script, if none is given: that of the framework which the script imports,
    else the first that starts any script. Empty: the command is not a Python script."""
    if not job_from_command.is_python(tuple(command)):
        return ""
    return framework_kind(command) or command_manifest.elastic_kinds(idle=True)[0]


def framework_kind(command: Sequence[str]) -> str:
    """The kind of the framework that the script imports. Horovod scripts also import another framework: later kinds win."""
    modules = command_needs.find([command], os.getcwd()).modules
    return next((kind.kind for kind in reversed(KINDS) if set(kind.modules) & set(modules)), "")

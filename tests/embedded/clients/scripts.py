"""Scripts of kubectl command lines, in plain text.

    create configmap settings --from-literal=a=1
    KUBE_EDITOR="sed -i 's/1/2/'" edit configmap settings
    apply -f - <<END
    ...
    END
    until 'word' get pods                 repeats the command until the output contains the word
    watch get pods -w                     starts a watch that runs beside the following lines
    ended 3                               waits until the watch has printed three lines and ends it

$NS is the script's own namespace. The folder `files` is the working directory.
"""

from __future__ import annotations

import dataclasses
import pathlib
import shlex
from collections.abc import Iterator

SCRIPTS = pathlib.Path(__file__).parent / "scripts"
FILES = pathlib.Path(__file__).parent / "files"


@dataclasses.dataclass(frozen=True)
class ScriptStep:
    line: str
    words: tuple[str, ...]
    environment: dict[str, str]
    given: str | None = None
    """Its standard input."""
    until: str = ""


@dataclasses.dataclass(frozen=True)
class Watch:
    line: str
    words: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class WatchEnd:
    line: str
    lines: int


Line = ScriptStep | Watch | WatchEnd


def names() -> list[str]:
    return sorted(path.stem for path in SCRIPTS.glob("*.txt"))


def read(name: str, namespace: str) -> list[Line]:
    lines = iter((SCRIPTS / f"{name}.txt").read_text().replace("$NS", namespace).splitlines())
    return [_line(line, lines) for line in lines if line.strip() and not line.startswith("#")]


def _line(line: str, rest: Iterator[str]) -> Line:
    command, here, end = line.partition(" <<")
    words = shlex.split(command)
    if words[0] == "watch":
        return Watch(line, tuple(words[1:]))
    if words[0] == "ended":
        return WatchEnd(line, int(words[1]))
    until = ""
    if words[0] == "until":
        until, words = words[1], words[2:]
    environment = {}
    while "=" in words[0] and not words[0].startswith("-"):
        key, _, environment[key] = words.pop(0).partition("=")
    return ScriptStep(line, tuple(words), environment, _input(rest, end) if here else None, until)


def _input(rest: Iterator[str], end: str) -> str:
    lines = []
    for line in rest:
        if line == end:
            break
        lines.append(line + "\n")
    return "".join(lines)

"""The output of kubectl, command by command, as text files."""

from __future__ import annotations

import dataclasses
import difflib
import pathlib
from collections.abc import Iterable, Iterator

from tests.embedded.clients.normalization import is_unordered

RECORDED = pathlib.Path(__file__).parent / "recorded"


@dataclasses.dataclass(frozen=True)
class TranscriptEntry:
    """A command and its outcome: `| ` stands before what it printed, `! ` before its errors, `= ` before its exit code."""

    command: str
    outcome: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join((f"$ {self.command}", *self.outcome))


@dataclasses.dataclass(frozen=True)
class Difference:
    script: str
    version: str
    command: str
    lines: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join((f"{self.script}, kubectl {self.version}: {self.command}", *(f"    {line}" for line in self.lines)))


def outcome(code: int, out: str, err: str) -> tuple[str, ...]:
    lines = [f"| {line}".rstrip() for line in out.splitlines()] + [f"! {line}".rstrip() for line in err.splitlines()]
    return (*lines, f"= {code}") if code else tuple(lines)


def path(script: str, version: str) -> pathlib.Path:
    return RECORDED / version / f"{script}.txt"


def write(script: str, version: str, entries: Iterable[TranscriptEntry]) -> None:
    path(script, version).parent.mkdir(parents=True, exist_ok=True)
    path(script, version).write_text("\n".join(map(str, entries)) + "\n")


def read(script: str, version: str) -> list[TranscriptEntry]:
    return list(_entries(path(script, version).read_text().splitlines()))


def _entries(lines: list[str]) -> Iterator[TranscriptEntry]:
    starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield TranscriptEntry(lines[start][2:], tuple(lines[start + 1 : end]))


def comparable(command: str, lines: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(lines)) if is_unordered(command) else lines


def differences(script: str, version: str, real: list[TranscriptEntry], ours: list[TranscriptEntry]) -> list[Difference]:
    assert [each.command for each in real] == [each.command for each in ours], (
        f"{script} has changed: run kubectl_comparison with --record"
    )
    return [
        Difference(script, version, there.command, tuple(_lines(there.outcome, here.outcome)))
        for there, here in zip(real, ours, strict=True)
        if comparable(there.command, there.outcome) != comparable(here.command, here.outcome)
    ]


def _lines(real: tuple[str, ...], ours: tuple[str, ...]) -> Iterator[str]:
    return (line for line in difflib.unified_diff(real, ours, "real", "ours", lineterm="", n=1) if not line.startswith("@@"))

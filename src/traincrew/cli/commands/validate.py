"""`traincrew validate`: every fault of some manifests, with file, line and path, in one go."""

from __future__ import annotations

import json
import pathlib
import sys
from collections.abc import Iterator, Sequence

import click

from traincrew.errors import ManifestError
from traincrew.validation import review

STDIN = "-"
SUFFIXES = (".yaml", ".yml", ".json")


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--output", "-o", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output format.")
def validate(files: tuple[str, ...], output: str) -> None:
    """Validate manifests without a cluster: YAML or JSON files, directories, or - for standard input.

    Each error is printed as file:line: path: message. The exit code is 0 if there are no errors, 1 if there are errors (warnings
    do not count), 2 if a file cannot be read. Objects of other kinds than training jobs are skipped.
    """
    found: dict[str, review.Review] = {}
    unreadable = 0
    for name in _names(files):
        try:
            found[name] = review.review(_text(name))
        except ManifestError as error:
            unreadable += 1
            click.echo(f"error: {error}", err=True)
    # Of what could not be read nothing is known, not even that it has no faults.
    if found or output == "json" or not unreadable:
        click.echo(_as_json(found) if output == "json" else _as_text(found))
    faulty = any(remark.level == "error" for one in found.values() for remark in one.remarks)
    sys.exit(2 if unreadable else 1 if faulty else 0)


def _names(given: Sequence[str]) -> Iterator[str]:
    """The files to read: those given, and those in the directories given."""
    for name in given:
        path = pathlib.Path(name)
        if name == STDIN or not path.is_dir():
            yield name
        else:
            inside = sorted(file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())
            yield from map(str, inside)


def _text(name: str) -> str:
    try:
        raw = sys.stdin.buffer.read() if name == STDIN else pathlib.Path(name).read_bytes()
        return raw.decode()
    except OSError as error:
        raise ManifestError(f"{name}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ManifestError(f"{name}: not UTF-8 text (byte {error.start})") from error


def _as_text(found: dict[str, review.Review]) -> str:
    lines = [
        f"{name}:{remark.line}: {'warning: ' if remark.level == 'warning' else ''}{remark}"
        for name, one in found.items()
        for remark in one.remarks
    ]
    return "\n".join([*lines, _summary(found)])


def _summary(found: dict[str, review.Review]) -> str:
    levels = [remark.level for one in found.values() for remark in one.remarks]
    told = [
        _count(levels.count("error"), "error"),
        _count(levels.count("warning"), "warning"),
        f"{_count(sum(one.jobs for one in found.values()), 'job')} in {_count(len(found), 'file')}",
    ]
    others = sum(one.others for one in found.values())
    passed = f"; {_count(others, 'object')} of other kinds skipped" if others else ""
    return ", ".join(told) + passed


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number or 'no'} {noun}s"


def _as_json(found: dict[str, review.Review]) -> str:
    remarks = [
        {"file": name, "line": remark.line, "path": remark.path, "message": remark.message, "level": remark.level}
        for name, one in found.items()
        for remark in one.remarks
    ]
    counts = {"jobs": sum(one.jobs for one in found.values()), "others": sum(one.others for one in found.values())}
    return json.dumps({"files": len(found), **counts, "remarks": remarks}, indent=2, ensure_ascii=False)

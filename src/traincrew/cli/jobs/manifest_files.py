"""Reads and reviews manifest files."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Iterator, Sequence

from traincrew import errors
from traincrew.cli.jobs import command_suggestion
from traincrew.validation import manifest_review

STDIN = "-"
SUFFIXES = (".yaml", ".yml", ".json")


def review_all(names: Sequence[str]) -> tuple[dict[str, manifest_review.Review], list[errors.ManifestError]]:
    """Review all files; return the reviews by file name, and the errors of files that cannot be read."""
    reviews: dict[str, manifest_review.Review] = {}
    unreadable: list[errors.ManifestError] = []
    for name in _expand(names):
        if (suggestion := command_suggestion.suggest([name])) and command_suggestion.is_script(name):
            unreadable.append(errors.ManifestError(suggestion))
            continue
        try:
            reviews[name] = manifest_review.review(read_text(name))
        except errors.ManifestError as error:
            unreadable.append(error)
    return reviews, unreadable


def _expand(names: Sequence[str]) -> Iterator[str]:
    """The files, and the manifests in the directories."""
    for name in names:
        path = pathlib.Path(name)
        if name == STDIN or not path.is_dir():
            yield name
        else:
            inside = sorted(file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())
            yield from map(str, inside)


def read_text(name: str) -> str:
    """Raise ManifestError if the file cannot be read."""
    try:
        raw = sys.stdin.buffer.read() if name == STDIN else pathlib.Path(name).read_bytes()
        return raw.decode()
    except OSError as error:
        raise errors.ManifestError(f"{name}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise errors.ManifestError(f"{name}: not UTF-8 text (byte {error.start})") from error

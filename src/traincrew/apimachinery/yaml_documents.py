"""Parses YAML and JSON texts of one or more documents, with the line of every value."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator

import yaml

from traincrew.apimachinery import yaml_positions
from traincrew.apimachinery.findings import ManifestFinding, Path, Value


@dataclasses.dataclass(frozen=True)
class Document:
    value: Value
    first_line: int
    problems: tuple[ManifestFinding, ...] = ()
    """Mistakes that YAML allows, such as duplicate keys."""
    where: yaml_positions.Positions = None
    offset: int = 0

    def line(self, path: Path) -> int:
        """The line of a path, or of its nearest existing parent."""
        where, line = self.where, self.first_line
        for key in path:
            there = key in where if isinstance(where, dict) else isinstance(where, list) and key in range(len(where))
            if not there:
                break
            relative, where = where[key]
            line = relative + self.offset
        return line

    def part(self, path: Path) -> Document:
        """The value at an existing path, as a separate document."""
        value, where = self.value, self.where
        for key in path:
            value, where = value[key], where[key][1]
        return Document(value, self.line(path), (), where, self.offset)


@dataclasses.dataclass(frozen=True)
class YAMLSyntaxError:
    """Text that is neither YAML nor JSON."""

    line: int
    column: int
    message: str


def parse(text: str) -> Iterator[Document | YAMLSyntaxError]:
    """All documents of a text, without empty ones. A syntax error does not hide the documents after it."""
    text = text.removeprefix("\ufeff")
    pieces = _json_pieces(text) if text.lstrip().startswith("{") else _yaml_pieces(text)
    for first_line, piece in pieces:
        yield from _parse_piece(piece, first_line)


def _yaml_pieces(text: str) -> Iterator[tuple[int, str]]:
    """The text of each document, with the number of its first line."""
    first, lines = 1, list[str]()
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        begins = re.match(r"---(\s|$)", line) is not None
        if begins and not all(before.startswith("%") or not before.strip() for before in lines):
            yield first, "".join(lines)
            first, lines = number, []
        lines.append(line)
    yield first, "".join(lines)


_SURROGATES = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")


def _json_pieces(text: str) -> Iterator[tuple[int, str]]:
    """JSON is YAML with two exceptions: objects may follow each other, and surrogate pairs are allowed.

    (A third one, keys of more than a thousand characters, does not exist in Kubernetes.)
    """
    text = _SURROGATES.sub(lambda found: str(json.loads(f'"{found[0]}"')), text)
    start = 0
    while text[start:].strip():
        start += len(text) - start - len(text[start:].lstrip())
        try:
            _, end = json.JSONDecoder().raw_decode(text, start)
        except (json.JSONDecodeError, RecursionError):
            end = len(text)
        yield text.count("\n", 0, start) + 1, text[start:end]
        start = end


def _parse_piece(piece: str, first_line: int) -> Iterator[Document | YAMLSyntaxError]:
    offset = first_line
    try:
        events = yaml.parse(piece, Loader=yaml.CSafeLoader)
        while (tree := (builder := yaml_positions.DocumentBuilder()).build(events)) is not None:
            if tree.value is not None or builder.problems:
                yield Document(tree.value, tree.line + offset, tuple(builder.problems), tree.where, offset)
    except yaml_positions.YAMLError as error:
        yield YAMLSyntaxError(offset + error.line, error.column + 1, str(error))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        yield YAMLSyntaxError(offset + (mark.line if mark else 0), (mark.column if mark else 0) + 1, _explain(error))
    except yaml.reader.ReaderError as error:
        line = piece.count("\n", 0, error.position)
        yield YAMLSyntaxError(offset + line, 1, f"a character that YAML does not allow: {error.character:#04x}")


_EXPLANATIONS = {
    "found character that cannot start any token": "this character is not allowed here; if it is a tab, use spaces instead",
    "mapping values are not allowed in this context": "a second ':' in one line, or wrong indentation; quote text with ': '",
    "could not find expected ':'": "a line without ':' where a key is expected",
    "did not find expected key": "a key is expected here; is the indentation right?",
    "did not find expected '-' indicator": "a list entry ('- ...') is expected here; is the indentation right?",
    "found unexpected end of stream": "unexpected end of the text; is a quote or bracket missing?",
}


def _explain(error: yaml.MarkedYAMLError) -> str:
    problem = str(error.problem or error.context or "invalid YAML")
    context = f" ({error.context})" if error.context and problem not in _EXPLANATIONS else ""
    return _EXPLANATIONS.get(problem, problem) + context

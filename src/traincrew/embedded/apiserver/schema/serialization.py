"""Parses JSON and YAML bodies as kube-apiserver does."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import yaml

from traincrew.apimachinery import go_format, yaml_positions
from traincrew.apimachinery.findings import ManifestFinding
from traincrew.embedded.apiserver.schema import json_syntax, json_tree

MAX_DEPTH = 200
"""The maximum depth. Later code may recurse into every level."""
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"([ \t\r\n]*:)?')
"""A string of valid JSON, with its colon if it is a key."""
_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_LONG_NUMBER = b"0" * 19
_UNREAD = object()
_TOO_DEEP = "invalid character '{' exceeded max depth"
PARSE_ERROR = "couldn't get version/kind; json parse error: "


class ParseError(ValueError):
    """The body cannot be parsed. The message is that of kube-apiserver."""


class Body:
    """`value` is the plain value (the last of duplicate keys). `nodes` is the whole tree, for error messages."""

    def __init__(self, value: Any, raw: bytes) -> None:
        self.value = value
        self.raw = raw
        self.unsure = False
        """Whether there may be duplicate keys or numbers out of range."""
        self.warnings: list[str] = []
        """Duplicate keys of YAML."""
        self._nodes: Any = _UNREAD

    @property
    def nodes(self) -> Any:
        if self._nodes is _UNREAD:
            self._nodes = json_tree.parse(self.raw.decode("utf-8", "replace"))
        return self._nodes


def read(raw: bytes, content_type: str) -> Body:
    if "yaml" in content_type:
        return _yaml(raw)
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _irregular(raw)
    body = Body(value, raw)
    body.unsure = not _single(raw, value) or _LONG_NUMBER in raw.translate(_DIGITS)
    return body


def _single(raw: bytes, value: Any) -> bool:
    """False if there may be a duplicate key. Raises ParseError if the body is too deep."""
    if b"\\" not in raw and not _spaced(raw) and raw.count(b"{") + raw.count(b"[") <= MAX_DEPTH:
        # Without escapes, and with every key next to its colon, these two bytes occur as often in the encoded value, except for
        # duplicate keys.
        return raw.count(b'":') == msgspec.json.encode(value).count(b'":')
    keys, depth = _measure(value)
    if depth > MAX_DEPTH:
        raise ParseError(PARSE_ERROR + _TOO_DEEP)
    return sum(map(bool, _STRING.findall(raw))) == keys


def _spaced(raw: bytes) -> bool:
    return b" :" in raw or b"\n:" in raw or b"\t:" in raw or b"\r:" in raw


def _irregular(raw: bytes) -> Body:
    """Accepts JSON that Go accepts and msgspec does not: invalid UTF-8, unpaired surrogates, huge numbers."""
    try:
        json_syntax.check(raw)
    except json_syntax.NotJson as error:
        raise ParseError(PARSE_ERROR + str(error)) from None
    body = Body(None, raw)
    body.unsure = True
    try:
        _check_depth(body.nodes)
    except RecursionError:
        raise ParseError(PARSE_ERROR + _TOO_DEEP) from None
    return body


def _check_depth(node: Any) -> None:
    level, depth = [node], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise ParseError(PARSE_ERROR + _TOO_DEEP)
        inner = [part[1] if isinstance(part, tuple) else part for container in level for part in container]
        level = [part for part in inner if isinstance(part, list)]


def _measure(value: Any) -> tuple[int, int]:
    """The number of keys, and the depth."""
    keys, depth, level = 0, 0, [value]
    while level:
        depth += 1
        below: list[Any] = []
        for container in level:
            if container.__class__ is dict:
                keys += len(container)
                below += [inner for inner in container.values() if inner.__class__ is dict or inner.__class__ is list]
            elif container.__class__ is list:
                below += [inner for inner in container if inner.__class__ is dict or inner.__class__ is list]
        level = below
    return keys, depth


def _yaml(raw: bytes) -> Body:
    builder = yaml_positions.DocumentBuilder()
    try:
        tree = builder.build(yaml.parse(raw.decode("utf-8", "replace"), Loader=yaml.CSafeLoader))
    except yaml_positions.YAMLError as error:
        raise ParseError(_yaml_message(error)) from None
    except yaml.MarkedYAMLError as error:
        raise ParseError(_parser_message(error)) from None
    except yaml.reader.ReaderError:
        raise ParseError("yaml: control characters are not allowed") from None
    body = Body(tree.value if tree else None, raw)
    body.warnings += [_warning(problem) for problem in builder.problems]
    body._nodes = json_tree.from_value(body.value)
    body.unsure = bool(body.warnings)
    return body


def _parser_message(error: yaml.MarkedYAMLError) -> str:
    """The error of the Go port of the same parser, which counts lines differently."""
    mark = error.problem_mark
    line = mark.line if mark and mark.line else (error.context_mark.line if error.context_mark else 0)
    if line and mark and mark.line and isinstance(error, yaml.scanner.ScannerError):
        line += 1
    return f"yaml: line {line}: {error.problem}" if line else f"yaml: {error.problem}"


def _yaml_message(error: yaml_positions.YAMLError) -> str:
    if isinstance(error, yaml_positions.AliasError):
        if error.recursive:
            return f"yaml: anchor '{error.anchor}' value contains itself"
        return f"yaml: unknown anchor '{error.anchor}' referenced"
    deep = isinstance(error, yaml_positions.TooDeepError)
    return "yaml: exceeded max depth of 10000" if deep else "yaml: document contains excessive aliasing"


def _warning(problem: ManifestFinding) -> str:
    """The warning about a duplicate key. Raises ParseError for any other problem."""
    match problem:
        case yaml_positions.DuplicateKey(path, _, line):
            return f"line {line + 1}: key {go_format.quote(str(path[-1]))} already set in map"
        case yaml_positions.NotFiniteNumber(scalar=scalar):
            raise ParseError("json: unsupported value: " + {"-": "-Inf", "n": "NaN"}.get(scalar.strip(".")[0].lower(), "+Inf"))
    raise ParseError(f"yaml: {problem.message}")

"""Numbers in the output of training programs: loss, throughput, steps. They are guessed from the text of each line."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable
from typing import NamedTuple

import re2

from traincrew import errors

MAX_LINE = 2000
"""Characters of a line that are examined."""
MAX_NAMES = 50
"""Numbers of one line that are read."""
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[+-]?(?:nan|inf(?:inity)?)"
_END = r"(?=%|(?![\w:/]|\s*/\s*\d|\.\d))"
"""The number ends here: it is no part of a time, a version, an address or a fraction."""
_PAIRS = re.compile(
    rf"""(?P<quote>['"]?)(?P<name>\b[A-Za-z][\w./@-]*(?:\ (?:loss|accuracy|rate|time))?)(?P=quote)"""
    rf"""(?P<sign>\s*=\s*|\s*:\s+|:)(?P<value>{_NUMBER}){_END}""",
    re.IGNORECASE | re.VERBOSE,
)
_WORDS = re.compile(rf"\b(?P<name>loss|accuracy|acc|perplexity|ppl|lr)\s+(?P<value>{_NUMBER}){_END}", re.IGNORECASE)
_EPOCH = re.compile(r"\bepochs?\b\W{0,3}(\d+)\s*(?:/|of)\s*(\d+)", re.IGNORECASE)
_STEP = re.compile(r"\b(?:step|iter|iteration|batch|it)s?\b\W{0,3}(\d+)\s*(?:/|of)\s*(\d+)", re.IGNORECASE)
_BAR = re.compile(r"(?:^|[\s|[])(\d+)/(\d+)\s*(?=\[|\(|━|[^\x00-\x7f]|\d+s\b)")
"""tqdm's `123/938 [00:02<00:13, 61.1it/s]`, the bars of Keras, and `[640/60000 (1%)]`."""
_STEP_NAMES = ("step", "global_step", "iteration", "iter", "batch")
_IDENTIFIERS = frozenset(
    ("rank", "local_rank", "node_rank", "world_size", "local_world_size", "pid", "port", "seed", "line", "version", "code", "id",
     "http", "https", "num_processes", "process_id", "python", "signal", "errno", "exitcode", "uid", "gid")
)  # fmt: skip
"""Numbers that name something and measure nothing."""


class Position(NamedTuple):
    """`step 412 of 938`."""

    current: int
    total: int


class Reading(NamedTuple):
    """What a line says."""

    values: dict[str, float]
    step: float | None = None
    epoch: Position | None = None
    position: Position | None = None


Parse = Callable[[str], Reading]


def shown(text: str) -> str:
    """The line as a terminal shows it in the end: without colours, after the last carriage return."""
    return _ANSI.sub("", text.rstrip("\r").rpartition("\r")[2][:MAX_LINE])


def parse(text: str) -> Reading:
    line = shown(text)
    values: dict[str, float] = {}
    for found in (*_PAIRS.finditer(line), *_WORDS.finditer(line)):
        name = found["name"]
        if len(values) < MAX_NAMES and _is_measured(name, found.groupdict()):
            values.setdefault(name, float(found["value"]))
    epoch, position = _position(_EPOCH.search(line)), _position(_STEP.search(line) or _BAR.search(line))
    return Reading(values, _step(values, position), epoch, position)


def _is_measured(name: str, found: dict[str, str]) -> bool:
    if name.lower() in _IDENTIFIERS or name.lower().endswith(("_id", "_port", "_rank")):
        return False
    is_address = found.get("sign") == ":" and not found.get("quote") and found["value"].isdecimal()
    return not is_address


def _position(found: re.Match[str] | None) -> Position | None:
    if found is None or len(found[1]) > 12 or len(found[2]) > 12:
        return None
    current, total = int(found[1]), int(found[2])
    return Position(current, total) if total > 0 and current <= total else None


def _step(values: dict[str, float], position: Position | None) -> float | None:
    by_name = {name.lower(): value for name, value in values.items()}
    step = next((by_name[name] for name in _STEP_NAMES if name in by_name), None)
    return step if step is not None else float(position.current) if position is not None else by_name.get("epoch")


def pattern(text: str) -> Parse:
    """A pattern of the user (RE2). Named groups are series; groups `name` and `value` belong together. Raise SettingsError."""
    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(text, options)
    except re2.error as error:
        raise errors.SettingsError(f"pattern: {text!r} is not a regular expression: {error}") from None
    groups = compiled.groupindex
    if not compiled.groups:
        raise errors.SettingsError("pattern: it has no group. Put the number in one, such as loss=(?P<loss>[0-9.]+)")
    if ("name" in groups) != ("value" in groups):
        raise errors.SettingsError("pattern: the groups `name` and `value` belong together; one of them is missing")

    def read(line: str) -> Reading:
        values: dict[str, float] = {}
        for found in compiled.finditer(shown(line)):
            named = {name: found[name] for name in groups} or {text: found[1]}
            if "value" in named:
                named[str(named.pop("name"))] = named.pop("value")
            values |= {name: number for name, value in named.items() if (number := _number(value)) is not None}
        step = values.pop("step", None)
        return Reading(values, step if step is not None else parse(line).step)

    return read


def _number(text: str | None) -> float | None:
    try:
        return float(text.replace(",", "")) if text is not None else None
    except ValueError:
        return None


def finite(value: float) -> float | None:
    """JSON has neither NaN nor infinity."""
    return value if math.isfinite(value) else None


@dataclasses.dataclass
class Tracker:
    """How far a program has come, from the lines that it prints."""

    epoch: Position | None = None
    position: Position | None = None
    from_zero: bool = False
    """The first epoch is 0."""
    is_part: bool = False
    """The position is that in an epoch, and the number of epochs is unknown."""

    def add(self, reading: Reading) -> None:
        if reading.epoch is not None:
            self.from_zero |= reading.epoch.current == 0
            if reading.epoch != self.epoch:
                self.position = None
            self.epoch = reading.epoch
        if reading.position is not None:
            self.is_part = reading.epoch is None and any(name.lower() == "epoch" for name in reading.values)
            self.position = reading.position

    def fraction(self) -> float | None:
        within = self.position.current / self.position.total if self.position is not None else 0.0
        if self.epoch is None:
            return within if self.position is not None and not self.is_part else None
        done = self.epoch.current - (0 if self.from_zero else 1)
        return min(max((done + within) / self.epoch.total, 0.0), 1.0)

    def text(self) -> str:
        parts = [f"epoch {self.epoch.current} of {self.epoch.total}"] if self.epoch is not None else []
        if self.position is not None:
            parts.append(f"step {self.position.current} of {self.position.total}")
        return ", ".join(parts)

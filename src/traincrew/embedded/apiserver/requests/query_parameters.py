"""The query parameters of a request, parsed as kube-apiserver parses them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from traincrew.apimachinery import go_format
from traincrew.apimachinery.api_errors import StatusError, bad_request
from traincrew.apimachinery.api_errors import invalid as invalid_error
from traincrew.apimachinery.field_errors import NOT_SUPPORTED, FieldError, invalid, not_supported, too_long

VALIDATIONS = ("", "Ignore", "Strict", "Warn")
MAX_FIELD_MANAGER_LENGTH = 128


class Query:
    """Parameters by name; the first value counts."""

    def __init__(self, values: Mapping[str, Sequence[str]]) -> None:
        self._values = values

    def text(self, name: str) -> str:
        values = self._values.get(name)
        return values[0] if values else ""

    def texts(self) -> dict[str, str]:
        return {name: self.text(name) for name in self._values}

    def all(self, name: str) -> Sequence[str]:
        return self._values.get(name, ())

    def flag(self, name: str) -> bool:
        """A parameter without value counts as true, as in Go's conversion of booleans."""
        values = self._values.get(name)
        return bool(values) and values[0].lower() not in ("false", "0") if values else False

    def given(self, name: str) -> bool:
        return name in self._values

    def number(self, name: str) -> int | None:
        text = self.text(name)
        if not text:
            return None
        try:
            return int(text)
        except ValueError:
            raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None


EMPTY = Query({})


class WriteOptions(NamedTuple):
    dry_run: bool
    validation: str
    manager: str
    force: bool | None


def write_options(query: Query, kind: str, agent: str, errors: Sequence[FieldError] = ()) -> WriteOptions:
    """kind: CreateOptions, UpdateOptions or PatchOptions, for the error message. errors: errors that are known already."""
    manager, given = query.text("fieldManager"), query.all("dryRun")
    validation = query.text("fieldValidation")
    all_errors = [*errors, *_field_manager_errors(manager), *dry_run_errors(given)]
    if validation not in VALIDATIONS:
        all_errors.append(not_supported("fieldValidation", validation, VALIDATIONS))
    if all_errors:
        raise invalid_options(kind, all_errors)
    force = query.flag("force") if query.given("force") else None
    return WriteOptions(bool(given), validation or "Warn", manager or default_manager(agent), force)


def _field_manager_errors(manager: str) -> Iterator[FieldError]:
    if len(manager.encode(errors="replace")) > MAX_FIELD_MANAGER_LENGTH:
        yield too_long("fieldManager", MAX_FIELD_MANAGER_LENGTH)
        return  # each of the other errors shows the whole name
    if not manager.isprintable():
        for index, char in enumerate(manager):
            if not char.isprintable():
                at = len(manager[:index].encode(errors="replace"))
                yield invalid("fieldManager", manager, f"invalid character U+{ord(char):04X} (at position {at})")


def dry_run_errors(given: Sequence[str]) -> list[FieldError]:
    if all(value == "All" for value in given):
        return []
    return [FieldError(NOT_SUPPORTED, "dryRun", f'Unsupported value: {go_format.string_slice(given)}: supported values: "All"')]


def invalid_options(kind: str, errors: list[FieldError]) -> StatusError:
    return invalid_error(kind, "meta.k8s.io", "", errors)


def default_manager(agent: str) -> str:
    """The first word of the user agent, as kube-apiserver names field managers that the client does not name."""
    name = agent.partition("/")[0].split(" ")[0][:128]
    return "".join(char for char in name if char.isprintable()) or "unknown"

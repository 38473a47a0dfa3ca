"""The query parameters of a request, read as an API server reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from traincrew.embedded.fields import FieldError, invalid, not_supported
from traincrew.embedded.refusals import Refusal, bad_request
from traincrew.embedded.refusals import invalid as refuse_invalid

VALIDATIONS = ("Ignore", "Warn", "Strict")


class Query:
    """Parameters by name; the first value counts."""

    def __init__(self, values: Mapping[str, Sequence[str]]) -> None:
        self._values = values

    def text(self, name: str) -> str:
        found = self._values.get(name)
        return found[0] if found else ""

    def all(self, name: str) -> Sequence[str]:
        return self._values.get(name, ())

    def flag(self, name: str) -> bool:
        """Present without value counts as true, as in Go's conversion of booleans."""
        found = self._values.get(name)
        return bool(found) and found[0].lower() not in ("false", "0") if found else False

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


def write_options(query: Query, kind: str, agent: str) -> WriteOptions:
    """kind: CreateOptions, UpdateOptions or PatchOptions: who is named in the refusal."""
    faults: list[FieldError] = []
    validation = query.text("fieldValidation") or "Warn"
    if validation not in VALIDATIONS:
        faults.append(not_supported("fieldValidation", validation, sorted(VALIDATIONS)))
    dry_run = dry_run_fault(query.all("dryRun"), faults)
    manager = query.text("fieldManager")
    if len(manager) > 128:
        faults.append(invalid("fieldManager", manager, "must be less than or equal to 128 characters long"))
    if faults:
        raise options_refused(kind, faults)
    force = query.flag("force") if query.given("force") else None
    return WriteOptions(dry_run, validation, manager or default_manager(agent), force)


def dry_run_fault(values: Sequence[str], faults: list[FieldError]) -> bool:
    given = [value for value in values if value]
    if any(value != "All" for value in given):
        shown = list(given)
        faults.append(not_supported("dryRun", shown, ["All"]))
    return bool(given)


def options_refused(kind: str, faults: list[FieldError]) -> Refusal:
    return refuse_invalid(kind, "meta.k8s.io", "", faults)


def default_manager(agent: str) -> str:
    """The user agent's first word, as an API server names writers that did not name themselves."""
    name = agent.partition("/")[0].split(" ")[0][:128]
    return "".join(char for char in name if char.isprintable()) or "unknown"

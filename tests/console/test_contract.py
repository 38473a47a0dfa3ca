"""The contract between the console and its page."""

from __future__ import annotations

import json
import pathlib
import re

import pytest

from tools import console_contract

ROOT = pathlib.Path(__file__).parents[2]
PAGE = (ROOT / "docs/console.md").read_text()


def names(types: tuple[type, ...]) -> set[str]:
    return set(console_contract._components(types))


def test_the_committed_files_are_current() -> None:
    assert json.loads((console_contract.FOLDER / "contract.schema.json").read_text()) == console_contract.schema()
    assert (console_contract.FOLDER / "contract.gen.ts").read_text() == console_contract.typescript()


def test_no_type_is_part_of_requests_and_responses() -> None:
    """Fields with defaults are optional in requests and required in responses."""
    assert names(console_contract.REQUESTS) & names(console_contract.RESPONSES) == set()


def test_every_property_of_a_response_is_required() -> None:
    definitions = console_contract.schema()["$defs"]
    optional = {
        (name, field)
        for name in names(console_contract.RESPONSES)
        for field in definitions[name]["properties"]
        if field not in definitions[name]["required"]
    }
    assert optional == set()


def test_only_requests_have_optional_properties() -> None:
    text = console_contract.typescript()
    assert "  force?: boolean" in text
    assert "  nextStep: string" in text


def test_comments_of_fields_are_in_the_types() -> None:
    assert "/** What to do, in the imperative. */\n  nextStep: string" in console_contract.typescript()


@pytest.mark.parametrize("root", [each.__name__ for each in (*console_contract.RESPONSES, *console_contract.REQUESTS)])
def test_every_message_is_in_the_documentation(root: str) -> None:
    if root in ("Subscribe", "Unsubscribe"):
        root = "PageMessage"
    assert re.search(rf"`{root}[`.]", PAGE)

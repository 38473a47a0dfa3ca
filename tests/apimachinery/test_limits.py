"""Limits of the work and memory that small inputs may cause: errors, defaults, visited values, caches, digits."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from tests.embedded.resilience import memory_limits

from traincrew.apimachinery import field_errors, jsonpath, name_validation, selectors, string_cache, yaml_scalars
from traincrew.apimachinery.field_errors import FieldErrors, TooManyErrors
from traincrew.apimachinery.structural import defaulting, schemas, validation_cost, value_validation
from traincrew.apimachinery.structural.schemas import Structure


@pytest.fixture(autouse=True)
def _memory_limit() -> Iterator[None]:
    """An attack that succeeds fails its test and does not harm the machine."""
    with memory_limits.of_this_process():
        yield


def test_the_errors_of_an_object_are_limited_in_number() -> None:
    errors = FieldErrors()
    with pytest.raises(TooManyErrors) as stopped:
        errors += (field_errors.required(f"spec[{index}]") for index in range(10**9))
    assert len(stopped.value.errors) == field_errors.MAX_ERRORS


def test_the_errors_of_an_object_are_limited_in_bytes() -> None:
    long, errors = "x" * 100_000, FieldErrors()
    with pytest.raises(TooManyErrors):
        errors.extend(field_errors.invalid(f"spec[{index}]", long, "must be short") for index in range(1_000))
    assert len(errors) == 11


def array(items: dict[str, Any]) -> Structure:
    return schemas.Structure({"type": "array", "items": items})


@pytest.mark.parametrize("default", ["x" * 80_000, [1] * 10_000, {f"k{index}": {} for index in range(5_000)}])
def test_defaults_are_set_up_to_a_number_of_bytes(default: Any) -> None:
    node = array({"type": "object", "properties": {"d": {"default": default}}})
    few: list[Any] = [{} for _ in range(10)]
    defaulting.default(few, node)
    assert [each["d"] for each in few] == [default] * 10
    many: list[Any] = [{} for _ in range(20_000)]
    with pytest.raises(defaulting.DefaultsTooLarge):
        defaulting.default(many, node)
    assert sum(bool(each) for each in many) < 100


def test_alternatives_are_compared_up_to_a_number_of_steps() -> None:
    node = array({"type": "integer", "allOf": [{}] * 1_000})
    assert value_validation.validate([*range(20)], node) == []
    (violation,) = value_validation.validate([*range(100_000)], node)
    assert "too many alternatives" in violation.limit


def test_a_schema_with_thousands_of_required_fields_reports_a_thousand() -> None:
    node = array({"type": "object", "required": [f"f{index}" for index in range(9_000)]})
    found = value_validation.validate([{}] * 20_000, node)
    assert len(found) == validation_cost.MAX_VIOLATIONS + 1


def test_an_enum_of_thousands_is_looked_up() -> None:
    names = [f"n{index}" for index in range(20_000)]
    assert value_validation.validate(names, array({"type": "string", "enum": names})) == []
    numbers = array({"enum": [1, 2.5, True, None, [1], {"a": 1}]})
    assert value_validation.validate([1, 1.9, 2.5, True, [1], {"a": 1}], numbers) == []
    assert len(value_validation.validate([2, 2.6, False, [2], float("inf"), float("nan"), 10**400], numbers)) == 7


def test_recursive_descents_visit_a_limited_number_of_values() -> None:
    deep: dict[str, Any] = {}
    for _ in range(150):
        deep = {"a": deep, "b": [{}, {}]}
    visits = jsonpath.Visits()
    assert jsonpath.parse("..a..a..a..a..a").first(deep, visits) == (False, None)
    assert visits.left < 0
    assert jsonpath.parse("..b").first(deep)[0]


@pytest.mark.parametrize("path", [".l[::0]", ".l[0:5:-1]"])
def test_a_slice_without_progress_selects_nothing(path: str) -> None:
    assert jsonpath.parse(path).first({"l": [1, 2, 3]}) == (False, None)


def test_a_slice_of_thousands_of_digits_is_no_path() -> None:
    with pytest.raises(jsonpath.JSONPathError):
        jsonpath.parse(f".l[{'9' * 5_000}]")


class LongText(str):
    """A string that can be referenced weakly."""

    __slots__ = ("__weakref__",)


def test_long_strings_of_clients_are_not_cached() -> None:
    kept, dropped = LongText("a" * string_cache.MAX_KEY_LENGTH), LongText("a" * (string_cache.MAX_KEY_LENGTH + 1))
    references = [weakref.ref(kept), weakref.ref(dropped)]
    for text in (kept, dropped):
        assert name_validation.dns_label(text)
    del text, kept, dropped
    gc.collect()
    assert [reference() is not None for reference in references] == [True, False]


def test_a_label_selector_of_spaces_is_read_once() -> None:
    assert selectors.parse_labels(" " * 90_000) == ()
    assert selectors.parse_labels(f"{' ' * 90_000}a") == (selectors.Requirement("a", selectors.EXISTS),)


@pytest.mark.parametrize("text", ["9" * 90_000, "1_" * 45_000 + "1", "0b" + "1" * 90_000, "0x" + "f" * 90_000, "1e999", "-1e999"])
def test_yaml_numbers_that_no_number_can_hold_are_text(text: str) -> None:
    assert yaml_scalars.plain(text) == text


def test_yaml_numbers_of_64_bits_are_numbers() -> None:
    assert [yaml_scalars.plain(text) for text in ("18446744073709551615", "0b" + "1" * 64, "1" + "0" * 30)] == [
        2**64 - 1, 2**64 - 1, 1e30,
    ]  # fmt: skip

"""Field sets behave like sets of paths."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from traincrew.apimachinery.patches import field_sets
from traincrew.apimachinery.patches.field_sets import Fields

Path = tuple[str, ...]
ELEMENTS = ["f:a", "f:b", 'k:{"name":"x"}', 'k:{"name":"y"}', 'v:"x"', "v:2", "v:10"]
PATHS = st.frozensets(st.lists(st.sampled_from(ELEMENTS), min_size=1, max_size=4).map(tuple), max_size=12)


def field_set(paths: frozenset[Path]) -> Fields:
    result: Fields = {}
    for path in paths:
        node: Fields = field_sets.FIELD
        for element in reversed(path):
            node = {element: node}
        result = field_sets.union(result, node)
    return result


@given(PATHS, PATHS)
def test_union_intersection_and_difference_are_those_of_paths(one: frozenset[Path], other: frozenset[Path]) -> None:
    for actual, expected in (
        (field_sets.union(field_set(one), field_set(other)), one | other),
        (field_sets.intersection(field_set(one), field_set(other)), one & other),
        (field_sets.difference(field_set(one), field_set(other)), one - other),
    ):
        assert frozenset(field_sets.paths(actual)) == expected
        assert actual == field_set(expected), "no set is written in two ways"


@given(PATHS, PATHS)
def test_recursive_difference_removes_the_fields_below(one: frozenset[Path], other: frozenset[Path]) -> None:
    left = frozenset(path for path in one if not any(path[: len(each)] == each for each in other))
    assert field_sets.recursive_difference(field_set(one), field_set(other)) == field_set(left)


@given(PATHS, PATHS)
def test_difference_does_not_change_its_arguments(one: frozenset[Path], other: frozenset[Path]) -> None:
    minuend, part = field_set(one), field_set(other)
    field_sets.union(minuend, part)
    field_sets.difference(minuend, part)
    field_sets.recursive_difference(minuend, part)
    assert (minuend, part) == (field_set(one), field_set(other))


@given(PATHS)
def test_a_field_set_round_trips(paths: frozenset[Path]) -> None:
    written = field_sets.ordered(field_set(paths))
    assert field_sets.decode(written) == field_set(paths)
    assert all(field_sets.has(written, path) for path in paths)


def test_elements_are_ordered_by_kind_and_numbers_by_size() -> None:
    written = field_sets.ordered({"v:10": {}, 'v:"x"': {}, "v:2": {}, "f:b": {}, 'k:{"p":80}': {}, 'k:{"p":9}': {}, "f:a": {}})
    assert list(written) == ["f:a", "f:b", 'k:{"p":9}', 'k:{"p":80}', "v:2", "v:10", 'v:"x"']


def test_path_elements_are_normalized() -> None:
    assert field_sets.decode({'k:{"b": 1.0, "a":"<"}': {}}) == {'k:{"a":"\\u003c","b":1}': {}}

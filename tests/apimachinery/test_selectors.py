"""Selectors of labels and fields, and LabelSelectors of objects."""

from __future__ import annotations

from typing import Any

import pytest

from traincrew.apimachinery import label_selectors, selectors
from traincrew.apimachinery.selectors import Requirement


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("a", (Requirement("a", "exists"),)),
        ("!a,b==c", (Requirement("a", "!"), Requirement("b", "=", ("c",)))),
        ("a in (x, y),b notin ()", (Requirement("a", "in", ("x", "y")), Requirement("b", "notin", ("",)))),
        ("in in (in,notin)", (Requirement("in", "in", ("in", "notin")),)),
        ("a in (,x,)", (Requirement("a", "in", ("", "x")),)),
        ("a=,b>5", (Requirement("a", "=", ("",)), Requirement("b", "gt", ("5",)))),
    ],
)
def test_a_label_selector_is_read_by_the_grammar_of_kubernetes(text: str, expected: tuple[Requirement, ...]) -> None:
    assert selectors.parse_labels(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("=", "found '=', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
    ],
)
def test_a_malformed_label_selector_is_rejected_with_kubernetes_message(text: str, message: str) -> None:
    with pytest.raises(selectors.SelectorError) as error:
        selectors.parse_labels(text)
    assert str(error.value) == message


def test_a_field_selector_unescapes_its_values_and_skips_empty_requirements() -> None:
    expected = selectors.parse_fields(r"b!=x\,y,a=1,=", lambda name: name)
    assert expected == (Requirement("a", "=", ("1",)), Requirement("b", "!=", ("x,y",)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a", "invalid selector: 'a'; can't understand 'a'"),
        (r"a=\x", r"invalid field selector: invalid escape sequence: \x"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
    ],
)
def test_a_malformed_field_selector_is_rejected_with_kubernetes_message(text: str, message: str) -> None:
    with pytest.raises(selectors.SelectorError) as error:
        selectors.parse_fields(text, lambda name: name)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        ({}, True),
        ({"matchLabels": {"a": "1"}}, True),
        ({"matchLabels": {"a": "2"}}, False),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "2"]}]}, True),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, False),
        ({"matchExpressions": [{"key": "b", "operator": "NotIn", "values": ["1"]}]}, True),
        ({"matchExpressions": [{"key": "b", "operator": "Exists"}]}, False),
        ({"matchExpressions": [{"key": "b", "operator": "DoesNotExist"}]}, True),
    ],
)
def test_label_selectors_select(selector: dict[str, Any], selected: bool) -> None:
    assert label_selectors.matches(selector, {"a": "1"}) is selected


@pytest.mark.parametrize(
    ("expression", "met", "unmet"),
    [
        ({"operator": "In", "values": ["x", "y"]}, ["x"], ["z", None]),
        ({"operator": "NotIn", "values": ["x", "y"]}, ["z", None], ["x"]),
        ({"operator": "Exists"}, ["", "x"], [None]),
        ({"operator": "DoesNotExist"}, [None], ["", "x"]),
        ({"operator": "Gt", "values": ["5"]}, ["6"], ["5", "x", "1_0", None]),
        ({"operator": "Lt", "values": ["5"]}, ["-4"], ["5", "x", None]),
        ({"operator": "Gt", "values": ["x"]}, [], ["6"]),
        ({"operator": "Gt"}, [], ["6"]),
        ({"operator": "Unknown"}, [], ["x", None]),
    ],
)
def test_a_requirement_is_met(expression: dict[str, Any], met: list[str | None], unmet: list[str | None]) -> None:
    for value in (*met, *unmet):
        labels = {} if value is None else {"key": value}
        assert label_selectors.meets({"key": "key", **expression}, labels) is (value in met), value


def test_an_absent_selector_matches_nothing() -> None:
    assert not label_selectors.matches(None, {"a": "b"})
    assert label_selectors.is_empty(None)
    assert label_selectors.is_empty({"matchLabels": {}})


def test_labels_and_expressions_must_all_match() -> None:
    selector = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "Exists"}]}
    assert label_selectors.matches(selector, {"a": "b", "c": ""})
    assert not label_selectors.matches(selector, {"a": "b"})
    assert not label_selectors.matches(selector, {"c": ""})


def test_a_selector_has_a_text_sorted_by_key() -> None:
    requirements = [("c", "NotIn", ["y", "x"]), ("a", "Exists", []), ("d", "DoesNotExist", [])]
    assert label_selectors.to_text({"b": "1"}, requirements) == "a,b=1,c notin (x,y),!d"
    assert label_selectors.to_text({}, []) == ""


def test_a_selector_has_the_text_of_go() -> None:
    selector = {"matchLabels": {"b": "1", "a": "2"}, "matchExpressions": [{"key": "c", "operator": "In", "values": ["x", "y"]}]}
    assert label_selectors.go_string(None) == "nil"
    assert label_selectors.go_string(selector) == (
        "&LabelSelector{MatchLabels:map[string]string{a: 2,b: 1,},MatchExpressions:[]LabelSelectorRequirement{"
        "LabelSelectorRequirement{Key:c,Operator:In,Values:[x y],},},}"
    )

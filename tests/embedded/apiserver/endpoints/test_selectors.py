from __future__ import annotations

import pytest

from traincrew.apimachinery import field_selectors, label_selectors
from traincrew.apimachinery.api_errors import StatusError
from traincrew.apimachinery.selectors import Requirement


@pytest.mark.parametrize(
    ("text", "found"),
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
def test_a_label_selector_is_read_by_the_grammar_of_kubernetes(text: str, found: tuple[Requirement, ...]) -> None:
    assert label_selectors.parse(text) == found


@pytest.mark.parametrize(
    ("text", "told"),
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
def test_a_malformed_label_selector_is_refused_in_kubernetes_words(text: str, told: str) -> None:
    with pytest.raises(StatusError) as refused:
        label_selectors.parse(text)
    assert (refused.value.code, refused.value.message) == (400, told)


def test_a_field_selector_unescapes_its_values_and_asks_nothing_of_nothing() -> None:
    found = field_selectors.parse(r"b!=x\,y,a=1,=", lambda name: name)
    assert found == (Requirement("a", "=", ("1",)), Requirement("b", "!=", ("x,y",)))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a", "invalid selector: 'a'; can't understand 'a'"),
        (r"a=\x", r"invalid field selector: invalid escape sequence: \x"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
    ],
)
def test_a_malformed_field_selector_is_refused_in_kubernetes_words(text: str, told: str) -> None:
    with pytest.raises(StatusError) as refused:
        field_selectors.parse(text, lambda name: name)
    assert refused.value.message == told

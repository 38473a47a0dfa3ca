"""Values are printed as Go prints them."""

from __future__ import annotations

from typing import Any

import pytest

from traincrew.apimachinery import go_base64, go_format, json_equality


@pytest.mark.parametrize(("given", "byte"), [("!!", 0), ("YQ", 0), ("YQ===", 4), ("Y Q=", 1), ("YWI=x", 4), ("YQ=", 3)])
def test_invalid_base64_is_reported_with_the_offset(given: str, byte: int) -> None:
    with pytest.raises(go_base64.Base64Error) as caught:
        go_base64.canonical(given)
    assert str(caught.value) == f"illegal base64 data at input byte {byte}"


def test_base64_may_be_broken_into_lines() -> None:
    assert go_base64.canonical("YW\nI=\n") == "YWI="


def test_numbers_are_printed_as_go_prints_them() -> None:
    given = [1.0, 0.5, 1e5, 1e6, 123456789.0, 1e20, 1e-5, -3.25, 0.0]
    assert [go_format.number(each) for each in given] == [
        "1", "0.5", "100000", "1e+06", "1.23456789e+08", "1e+20", "1e-05", "-3.25", "0",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("a", '"a"'),
        ('a"b\\c', '"a\\"b\\\\c"'),
        ("\a\n\t\x01\x7f", '"\\a\\n\\t\\x01\\x7f"'),
        ("é\u200b\U0001f600", '"é\\u200b😀"'),
    ],
)
def test_strings_are_quoted(text: str, quoted: str) -> None:
    assert go_format.quote(text) == quoted


@pytest.mark.parametrize(
    ("value", "plain", "syntax"),
    [
        (
            {"b": [1, "x"], "a": None},
            "map[a:<nil> b:[1 x]]",
            'map[string]interface {}{"a":interface {}(nil), "b":[]interface {}{1, "x"}}',
        ),
        (True, "true", "true"),
        (1e6, "1e+06", "1e+06"),
        ("x", "x", '"x"'),
        (None, "<nil>", "interface {}(nil)"),
    ],
)
def test_values_are_printed(value: object, plain: str, syntax: str) -> None:
    assert go_format.plain(value) == plain
    assert go_format.syntax(value) == syntax


def test_typed_values_are_printed() -> None:
    assert go_format.quote_list(["a", "b"]) == '["a" "b"]'
    assert go_format.string_slice(None) == "[]string(nil)"
    assert go_format.string_slice(["a"], "core.Scope") == '[]core.Scope{"a"}'
    assert go_format.string_map({"b": "1", "a": "2"}) == 'map[string]string{"a":"2", "b":"1"}'


@pytest.mark.parametrize(
    ("one", "other", "deep", "by_value"),
    [
        (1, 1.0, False, True),
        (1, True, False, False),
        ({"a": [1]}, {"a": [1.0]}, False, True),
        ({"a": [True]}, {"a": [1]}, False, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True, True),
        ([1, 2], [2, 1], False, False),
    ],
)
def test_json_values_are_equal(one: Any, other: Any, deep: bool, by_value: bool) -> None:
    assert json_equality.deep_equal(one, other) is deep
    assert json_equality.values_equal(one, other) is by_value
    assert json_equality.quickly_equal(one, one)
    assert not (json_equality.quickly_equal(one, other) and not deep)

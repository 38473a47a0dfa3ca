"""Reading text: what values mean, which line they stand in, and what is said of text that cannot be read."""

from __future__ import annotations

import json
from typing import Any

import hypothesis
import pytest
import yaml
from hypothesis import strategies

from traincrew.apimachinery import yaml_documents, yaml_scalars


def documents(text: str) -> list[yaml_documents.Document]:
    found = list(yaml_documents.parse(text))
    assert not [fault for fault in found if isinstance(fault, yaml_documents.YAMLSyntaxError)]
    return [document for document in found if isinstance(document, yaml_documents.Document)]


def only(text: str) -> yaml_documents.Document:
    (document,) = documents(text)
    return document


def fault(text: str) -> yaml_documents.YAMLSyntaxError:
    (found,) = [found for found in yaml_documents.parse(text) if isinstance(found, yaml_documents.YAMLSyntaxError)]
    return found


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5), ("-5", -5), ("+5", 5), ("1_000", 1000), ("0x1F", 31), ("0o17", 15), ("017", 15), ("0b101", 5), ("08", 8.0),
        ("1.5", 1.5), (".5", 0.5), ("5.", 5.0), ("1e3", 1000.0), ("1E-2", 0.01), ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", float(2**64)), ("yes", True), ("On", True), ("y", True), ("NO", False), ("off", False),
        ("n", False), ("~", None), ("", None), ("null", None), ("nULL", "nULL"), ("1:30", "1:30"), ("2024-01-01", "2024-01-01"),
        ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"), ("-", "-"), (".", "."), ("1Gi", "1Gi"), ("1.2.3", "1.2.3"),
        ("=", "="), ("é", "é"),
    ],
)  # fmt: skip
def test_plain_words_mean_what_kubectl_takes_them_for(text: str, value: Any) -> None:
    found = yaml_scalars.plain(text)
    assert (type(found), found) == (type(value), value)


def test_quotes_and_tags_decide_what_is_text() -> None:
    found = only("a: '5'\nb: \"yes\"\nc: !!str 5\nd: !!int '5'\n")
    assert found.value == {"a": "5", "b": "yes", "c": "5", "d": 5}


def test_keys_are_words() -> None:
    assert only("5: a\ntrue: b\n1.5: c\n").value == {"5": "a", "true": "b", "1.5": "c"}
    assert [str(problem) for problem in only("a:\n  ? [1]\n  : 2\n").problems] == [
        "a: a key must be a string, not a list, a mapping or null"
    ]


def test_every_path_has_its_line() -> None:
    found = only("# first\n---\nspec:\n  list:\n  - a: 1\n    b: 2\n  - {c: 3}\n")
    lines = {(): 3, ("spec",): 3, ("spec", "list", 0, "b"): 6, ("spec", "list", 1): 7, ("spec", "list", 1, "c"): 7}
    assert {path: found.line(path) for path in lines} == lines


def test_a_path_that_is_not_there_has_the_line_of_what_should_hold_it() -> None:
    found = only("a: 1\nspec:\n  list: []\n")
    assert found.line(("spec", "replicas")) == 2
    assert found.line(("spec", "list", 3, "x")) == 3


def test_documents_are_separated_and_empty_ones_skipped() -> None:
    found = documents("---\n# nothing\n---\na: 1\n---\n\n--- # comment\nb: 2\n...\n---\n")
    assert [(document.value, document.first_line) for document in found] == [({"a": 1}, 4), ({"b": 2}, 8)]


def test_a_document_that_cannot_be_read_does_not_hide_the_next() -> None:
    found = list(yaml_documents.parse("a: 1\n---\na: b: c\n---\nb: 2\n"))
    assert [type(one) for one in found] == [yaml_documents.Document, yaml_documents.YAMLSyntaxError, yaml_documents.Document]


def test_the_yaml_directive_belongs_to_its_document() -> None:
    assert only("%YAML 1.1\n---\na: 1\n").value == {"a": 1}


def test_a_key_given_twice_is_a_problem_with_both_lines() -> None:
    found = only("spec:\n  a: 1\n  b: {}\n  a: 2\n")
    assert [str(problem) for problem in found.problems] == ["spec.a: is given twice, first in line 2"]
    assert found.line(("spec", "a")) == 4


def test_anchors_and_merges_are_written_out() -> None:
    found = only("base: &base {a: 1, b: 2}\nmine:\n  <<: *base\n  b: 3\nboth:\n  <<: [{c: 4}, *base]\n")
    assert found.value["mine"] == {"a": 1, "b": 3}
    assert found.value["both"] == {"a": 1, "b": 2, "c": 4}
    assert found.line(("mine", "a")) == 1


def test_a_quoted_merge_key_is_an_ordinary_key() -> None:
    assert only('mine:\n  "<<": {a: 1}\n').value == {"mine": {"<<": {"a": 1}}}


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        pytest.param("a: b: c\n", 1, "a second ':'", id="two colons"),
        pytest.param("a:\n\t- b\n", 2, "tab", id="a tab"),
        pytest.param("a: [1, 2\nb: 3\n", 2, "did not find expected ',' or ']'", id="an open bracket"),
        pytest.param("a: 'x\n", 2, "is a quote or bracket missing", id="an open quote"),
        pytest.param("- a\nb: c\n", 2, "indentation", id="a list that becomes a mapping"),
        pytest.param("a: \x01\n", 1, "0x01", id="a control character"),
        pytest.param("x: 1\na: *b\n", 2, "is an undefined alias", id="an alias of nothing"),
        pytest.param("a: &a [*a]\n", 1, "contains itself", id="an alias inside itself"),
        pytest.param("[" * 5000 + "]" * 5000, 1, "nested more than", id="deep nesting"),
        pytest.param("[" * 200_000, 1, "nested more than", id="nesting that would crash a composer"),
        pytest.param('{"a": 1,\n "b" 2}', 2, "", id="broken JSON"),
    ],
)
def test_what_cannot_be_read_is_reported_with_its_line(text: str, line: int, message: str) -> None:
    found = fault(text)
    assert found.line == line
    assert message in found.message


def test_aliases_that_would_fill_the_memory_are_refused() -> None:
    levels = "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12))
    assert "more than" in fault(f"a0: &a0 [{', '.join('1' * 10)}]\n{levels}\n").message


def test_json_may_hold_tabs_pairs_and_several_objects() -> None:
    found = documents('{\n\t"a": "\\ud83d\\ude00 \\/"\n}\n{"b": [1,\n2]}')
    assert [document.value for document in found] == [{"a": "😀 /"}, {"b": [1, 2]}]
    assert found[1].line(("b", 1)) == 5


def test_infinity_is_a_problem() -> None:
    assert [problem.path for problem in only("a: [1, .inf]\n").problems] == [("a", 1)]


JSON = strategies.recursive(
    strategies.none() | strategies.booleans() | strategies.integers(-(2**63), 2**63 - 1) | strategies.text(),
    lambda inner: strategies.lists(inner, max_size=4) | strategies.dictionaries(strategies.text(max_size=20), inner, max_size=4),
    max_leaves=12,
)


@hypothesis.given(value=strategies.dictionaries(strategies.text(max_size=20), JSON, max_size=4))
def test_json_is_read_as_it_was_written(value: dict[str, Any]) -> None:
    assert [document.value for document in documents(json.dumps(value))] == [value]


@hypothesis.given(value=strategies.dictionaries(strategies.text(max_size=20), JSON, min_size=1, max_size=4))
def test_yaml_is_read_as_it_was_written(value: dict[str, Any]) -> None:
    assert [document.value for document in documents(yaml.safe_dump(value, default_style='"'))] == [value]


@hypothesis.given(text=strategies.text(alphabet=strategies.sampled_from("ab:-{}[],&*!|>%#'\"\n\t ?<~0x.\x00é"), max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    for found in yaml_documents.parse(text):
        assert isinstance(found, yaml_documents.Document | yaml_documents.YAMLSyntaxError)

"""Regular expressions have the syntax of Go. tests/cluster compares them with a real API server."""

from __future__ import annotations

import subprocess
import sys

import pytest

from traincrew.apimachinery.structural import regular_expressions, schemas, validation_cost, value_validation
from traincrew.apimachinery.structural.regular_expressions import PatternError


def error_of(pattern: str) -> str:
    with pytest.raises(PatternError) as error:
        regular_expressions.compile_pattern(pattern)
    return str(error.value).removeprefix("error parsing regexp: ")


@pytest.mark.parametrize(
    ("pattern", "valid", "invalid"),
    [
        ("^a$", "a", "a\n"), ("^(a|b)+$", "ab", "ab\n"), (r"^[[:alpha:]]+$", "ab", "a1"), (r"^\d$", "1", "٣"),
        (r"^(?P<x>a)\z", "a", "b"), (r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$", "a.b-c", "a..b"),
        ("^(?i)[a-z]+$", "AbC", "a1"), (r"^\pL+$", "né日", "n1"), (r"^\p{Greek}$", "Ω", "O"), (r"^\Qa.b\E$", "a.b", "axb"),
        ("^(?U)a+$", "aa", "b"), (r"^\x{1F600}$", "😀", "😁"), ("(?s)^a.b$", "a\nb", "ab"), ("(?-s)^a.b$", "axb", "a\nb"),
    ],
)  # fmt: skip
def test_patterns_have_the_syntax_of_go(pattern: str, valid: str, invalid: str) -> None:
    compiled = regular_expressions.compile_pattern(pattern)
    assert compiled.matches(valid)
    assert not compiled.matches(invalid)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("[", "missing closing ]: `[`"), ("(a", "missing closing ): `(a`"), ("a)", "unexpected ): `a)`"),
        ("*a", "missing argument to repetition operator: `*`"), ("a++", "invalid nested repetition operator: `++`"),
        ("a(?=b)", "invalid or unsupported Perl syntax: `(?=`"), ("(?<=b)a", "invalid named capture: `(?<=b)a`"),
        ("(?>a)", "invalid or unsupported Perl syntax: `(?>`"), (r"(a)\1", r"invalid escape sequence: `\1`"),
        (r"\Z", r"invalid escape sequence: `\Z`"), (r"a\C", r"invalid escape sequence: `\C`"),
        ("(?P<é>a)", "invalid named capture: `(?P<é>`"), ("a{1001}", "invalid repeat count: `{1001}`"),
        (r"\p{Klingon}", r"invalid character class range: `\p{Klingon}`"), ("a\\", "trailing backslash at end of expression: ``"),
        ("(a{1000}){1000}", "invalid repeat count: `{1000}`"),
    ],
)  # fmt: skip
def test_what_go_rejects_is_rejected_in_its_words(pattern: str, message: str) -> None:
    assert error_of(pattern) == message


@pytest.mark.parametrize("pattern", [r"\Q\C\E", r"\\C", "[(?P<é>]", r"[\]\\C(?P<é>]é"])
def test_quoted_text_and_classes_are_not_taken_for_syntax_of_re2(pattern: str) -> None:
    assert regular_expressions.compile_pattern(pattern)


def test_expressions_are_found_in_a_text() -> None:
    word = regular_expressions.compile_pattern(r"\pL+")
    assert (word.find("1é2"), word.find("1")) == ("é", "")
    assert (word.find_all("a 日 c"), word.find_all("a b c", 2), word.find_all("a", 0)) == (["a", "日", "c"], ["a", "b"], [])


def test_an_expression_that_takes_too_much_memory_is_rejected() -> None:
    assert error_of(r"^\pL{1,1000}$").startswith("expression too large: ")
    assert error_of(r"\pL|" * 501).startswith("expression too large: ")


def test_the_instructions_of_a_match_are_counted_before_it() -> None:
    pattern = "(?:a|b)*a(?:a|b){900}c"
    size = regular_expressions.compile_pattern(pattern).size
    most = validation_cost.MAX_INSTRUCTIONS // size
    cost = validation_cost.ValidationCost()
    assert not cost.matches(pattern, "ab")
    assert cost.instructions == 2 * size
    schema = schemas.of({"type": "array", "items": {"type": "string", "pattern": pattern}})
    found = value_validation.validate(["x", "a" * most], schema)
    assert [each.rule for each in found] == ["pattern", "unfinished"]


def test_a_search_for_all_matches_stops_when_it_has_read_too_much() -> None:
    with pytest.raises(PatternError, match="too many matches"):
        regular_expressions.compile_pattern("(?:.*b|a)").find_all("a" * 20_000)


def test_an_invalid_pattern_of_an_earlier_version_matches_nothing() -> None:
    assert not validation_cost.ValidationCost().matches("(?=a)", "a")


def test_the_library_is_imported_with_the_first_expression() -> None:
    script = "import sys, traincrew.cli.main; assert 're2' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)

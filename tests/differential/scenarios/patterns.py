"""Patterns in the schemas of custom resource definitions: which are accepted, and what they match."""

from __future__ import annotations

from typing import Any

from tests.differential import bodies
from tests.differential.scenario_client import ScenarioClient
from tests.differential.scenario_list import scenario

VALID = (
    "^(?i)[a-z]+$", r"^\pL+$", r"\PN", r"^\p{Greek}+$", r"\p{^Lu}", r"\p{Latin}x", r"[\p{Nd}\pZ]", r"^\Qa.b*\E$", r"\Qa",
    "^(?U)a+?b", "(?s)a.b", "(?m)^b$", "a.b", "^a$", r"^a\z", r"\Aa", r"\bfoo\b", r"a\B", "(?P<n>a)", "(?<n>a)", "(?i:K)",
    "(?i)ſ", "[[:alpha:]]", "[[:^alpha:]1]", "[[:word:]]+$", r"^\d+$", r"^\s$", r"\W", "[]a]", "[^]a]", "[a-]", r"[\-a]",
    "x{,5}", "a{2,3}$", "a{0}", "^a{1000}$", "{", "a|", "(|a)b", r"\x41", r"\x{1F642}", r"\101", r"\0", r"\_\-\/\@",
    r"\a\f\v|\t\n\r", "é", "[é-日]", "^(a+)+$", "^(a|b)*c$", "(?i)straße", r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
)  # fmt: skip
INVALID = (
    "(?=a)", "(?!a)", "(?<=a)b", "(?<!a)b", "(?>a)", "a++", "a*+", "a?+", "a**", "a{2}{3}", "(a", "a)", "[a", "[z-a]", "[]",
    r"[a-\d]", "[[:foo:]]", r"\p{Foo}", r"\p", r"\1", r"(a)\1", r"\8", r"\Z", r"\C", r"[\C]", r"\E", r"\h", r"\K", r"\u0041",
    r"\cA", r"\é", r"\x4", r"\x{110000}", "a\\", "*a", "+", "?", "a{1001}", "a{3,2}", "(a{1000}){2}", "(?P<é>a)", "(?P<>a)",
    "(?P<n>a)(?P<n>b)", "(?P=n)", "(?#c)", "(?x)a", "(?)", "(?i-)", "(?P<n", "(?",
)  # fmt: skip
TEXTS = (
    "", "_-/@", "a", "b", "ab", "aab", "AbC", "K", "\u212a", "é", "É", "ß", "ſ", "S", "\n", "a\n", "a\nb", "b\na",
    "foo", "foobar", "1", "٣", "_", "-", " ", "\t", "\v", "x{,5}", "日本", "Ω", "a.b*", "axb", "aaaa", "a" * 1000,
    "aaa!", "]", "{", "🙂", "STRASSE",
)  # fmt: skip


def definition(p: ScenarioClient, fields: dict[str, Any]) -> dict[str, Any]:
    spec = {"type": "object", "properties": fields}
    return bodies.definition(f"{p.namespace}.example.com", bodies.structural(spec))


@scenario("patterns")
def accepted_patterns(p: ScenarioClient) -> None:
    for pattern in (*VALID, *INVALID):
        p.create("customresourcedefinitions", definition(p, {"a": {"type": "string", "pattern": pattern}}), dryRun="All")


def _violations(body: dict[str, Any]) -> Any:
    """Sorted: the real server reports them in the random order of a map."""
    causes = (body.get("details") or {}).get("causes")
    return sorted(each["message"] for each in causes) if causes else body


@scenario("patterns")
def matching_patterns(p: ScenarioClient) -> None:
    fields = {f"p{number}": {"type": "string", "pattern": pattern} for number, pattern in enumerate(VALID)}
    p.create("customresourcedefinitions", definition(p, fields))
    p.until(lambda response: response.status == 200, f"/apis/{p.namespace}.example.com/v1")
    path = f"/apis/{p.namespace}.example.com/v1/namespaces/{p.namespace}/widgets"
    for text in TEXTS:
        body = {"apiVersion": f"{p.namespace}.example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
        p.send("POST", path, {**body, "spec": dict.fromkeys(fields, text)}, dryRun="All", keep=_violations)
    p.delete("customresourcedefinitions", f"widgets.{p.namespace}.example.com")

"""The cost of validation rules is estimated before they run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.embedded.resilience import memory_limits

from traincrew.apimachinery import field_errors
from traincrew.apimachinery.structural import schemas
from traincrew.embedded.apiserver.schema import cel, cel_cost, cel_limits, cel_rules, crd_validation, crds, custom_resources

DOUBLED = "self"
for level in range(20):
    DOUBLED = f"cel.bind(a{level}, {DOUBLED}, a{level} + a{level})"
OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"


@pytest.fixture(autouse=True)
def _memory_limit() -> Iterator[None]:
    """An attack that succeeds fails its test and does not harm the machine."""
    with memory_limits.of_this_process():
        yield


def structure(*rules: str, **schema: Any) -> schemas.Structure:
    return schemas.Structure({"x-kubernetes-validations": [{"rule": rule} for rule in rules], **schema})


def cost(rule: str, value: Any) -> float:
    (compiled,) = cel_rules.rules(structure(rule))
    assert not isinstance(compiled, str)
    return compiled.program.cost.cost({"self": value})


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("self.all(x, self.all(y, self.all(z, x + y + z >= 0)))", list(range(300))),
        ("self.map(x, x).size() > 0", list(range(9_000))),
        ("self.map(x, self).size() > 0", list(range(3_000))),
        ("self.filter(x, x > 0).size() > 0", list(range(9_000))),
        ("self.all(x, (self + self + self + self).size() > 0)", [1] * 1_000),
        ("self.split('').exists(x, self.split('').size() < 0)", "a" * 1_500),
        (f"{DOUBLED} != ''", "x" * 1_000),
        ("self.replace('a', self) != ''", "a" * 80_000),
        ("self.all(x, self == self && self == self && self == self)", list(range(9_000))),
        ("sets.equivalent(self, self)", list(range(14_000))),
        ("self.matches('(?:a|b)*a(?:a|b){900}c')", "ab" * 50_000),
        ("self.matches(self)", "a" * 20_000),
    ],
)
def test_a_rule_that_would_take_minutes_or_gigabytes_is_not_run(rule: str, value: Any) -> None:
    assert cost(rule, value) > cel_cost.BUDGET
    assert [error.message for error in cel.check(value, structure(rule))] == [f'Invalid value: "": {OUT_OF_BUDGET}']


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("self.all(x, self.exists_one(y, x.name == y.name))", [{"name": f"n{index}"} for index in range(90)]),
        ("self.all(k, k.lowerAscii() != 'master' || self[k].replicas == 1)", {"Master": {"replicas": 1, "text": "x" * 50_000}}),
        ("self.map(x, x.name).join(',').size() < 10000", [{"name": f"n{index}"} for index in range(500)]),
        ("self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')", "a" * 253),
        ("self.filter(x, x > 2).size() == 997", list(range(1_000))),
        ("self.all(x, (x + ',' + x).size() < 100 && (self + ['a']).size() > 0)", [f"n{index}" for index in range(100)]),
        ("self.split(',').all(x, x.size() < 10)", "a," * 3_000),
        ("self.startsWith('x') && !self.contains('y')", "x" * 100_000),
        ("quantity(self).isGreaterThan(quantity('1Mi'))", "1Gi"),
    ],
)
def test_rules_of_ordinary_definitions_run(rule: str, value: Any) -> None:
    assert cost(rule, value) < cel_cost.BUDGET / 2
    assert cel.check(value, structure(rule)) == []


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("self.all(x, x >= 0)", list(range(9_000))),
        ("self.map(x, x).size() > 0", list(range(1_500))),
        ("self.all(x, self.exists(y, y == x))", list(range(90))),
        ("self + self + self + self != ''", "x" * 90_000),
        ("self.split('').size() > 0", "x" * 50_000),
    ],
)
def test_the_estimate_is_no_less_than_what_a_rule_takes(rule: str, value: Any) -> None:
    (compiled,) = cel_rules.rules(structure(rule))
    assert not isinstance(compiled, str)
    compiled.program.compiled.eval(data={"self": value})
    started = time.thread_time_ns()
    compiled.program.compiled.eval(data={"self": value})
    assert time.thread_time_ns() - started < 5 * compiled.program.cost.cost({"self": value})


def test_the_budget_is_that_of_all_rules_of_an_object() -> None:
    items = [*range(1_000)]
    rules = [f"self.map(x, x + {index}).size() > 0" for index in range(10)]
    assert cel.check(items, structure(rules[0])) == []
    (error,) = cel.check({"spec": items}, schemas.Structure({"properties": {"spec": structure(*rules).schema}}))
    assert str(error) == f'spec: Invalid value: "": {OUT_OF_BUDGET}'


def test_a_rule_beyond_the_iterations_of_the_library_is_out_of_budget() -> None:
    rule = "self.all(x, self.all(y, x + y >= 0))"
    assert [error.path for error in cel.check([*range(110)], structure(rule), "spec")] == ["spec"]


def definition(versions: int, *rules: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": {"type": "string", **structure(*rules).schema}}}
    entries = [
        {"name": f"v{index + 1}", "served": True, "storage": not index, "schema": {"openAPIV3Schema": schema}}
        for index in range(versions)
    ]
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": entries}
    return {"metadata": {"name": "widgets.example.com"}, "spec": spec}


def test_the_rules_of_all_versions_of_a_definition_are_compiled_up_to_a_number_of_tokens() -> None:
    assert 10 < cel_limits.count_tokens(structure("self > 0").schema) < 20
    rules = ["self.nonsense()"] * 500
    whole = cel_limits.count_tokens(structure(*rules).schema)
    fitting = cel_limits.MAX_TOKENS // whole
    assert crds.unenforced_rules(definition(fitting, *rules))
    assert crds.unenforced_rules(definition(fitting + 1, *rules)) == []
    for versions, paths in ((fitting, []), (fitting + 1, ["spec.versions"])):
        errors = crd_validation.validate(definition(versions, *rules))
        assert [error.path for error in errors if error.reason == field_errors.FORBIDDEN] == paths


def test_a_rule_with_many_nested_loops_is_not_enforced() -> None:
    terms = " && ".join(["x > 0"] * 700)
    rule = f"self.all(x, self.all(x, self.all(x, {terms})))"
    (message,) = custom_resources.unenforced_rules(structure(rule).schema)
    assert message.endswith("the rule is too complex")

from __future__ import annotations

import copy
from typing import Any

import pytest
from tests.embedded.apiserver.schema import widget_crd

from traincrew.apimachinery.structural import schemas
from traincrew.embedded.apiserver.schema import cel, custom_resources

SERVED = widget_crd.served()


def errors(**spec: Any) -> list[str]:
    return [str(error) for error in custom_resources.validate(widget_crd.widget(**spec), SERVED)]


def changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return [
        str(error) for error in custom_resources.validate_update(widget_crd.widget(**after), widget_crd.widget(**before), SERVED)
    ]


UNCHECKED = (
    '<nil>: Invalid value: "null": some validation rules were not checked because the object was invalid; '
    "correct the existing errors to complete validation"
)


def test_defaults_are_filled_in_also_within_defaults() -> None:
    obj = widget_crd.widget(ports=[{"name": "a"}], defaulted=None)
    custom_resources.default(obj, SERVED.schema)
    assert obj["spec"] == {
        "size": 1, "color": "red", "nothing-or-default": "d", "defaulted": "d", "nested": {"a": 1, "b": "bb"},
        "ports": [{"name": "a", "proto": "TCP"}],
    }  # fmt: skip


def test_a_default_is_never_shared() -> None:
    first, second = widget_crd.widget(), widget_crd.widget()
    custom_resources.default(first, SERVED.schema)
    first["spec"]["nested"]["a"] = 5
    custom_resources.default(second, SERVED.schema)
    assert second["spec"]["nested"]["a"] == 1


def test_missing_fields_are_reported() -> None:
    obj = widget_crd.widget()
    del obj["spec"]["size"]
    assert [str(error) for error in custom_resources.validate(obj, SERVED)] == ["spec.size: Required value", UNCHECKED]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"name": "a"}, 'spec.name: Invalid value: "a": spec.name in body should be at least 2 chars long'),
        ({"ratio": 0.25}, "spec.ratio: Invalid value: 0.25: spec.ratio in body should be a multiple of 0.5"),
        ({"none": "xy"}, '<nil>: Invalid value: "": "spec.none" must not validate the schema (not)'),
        ({"tags": ["a", "a"]}, 'spec.tags[1]: Duplicate value: "a"'),
        ({"ruled": {"min": 5, "max": 1}}, 'spec.ruled: Invalid value: "object": min above max'),
        ({"ruled": {"max": 500}}, "spec.ruled.max: Forbidden: max is 500"),
        ({"ruled-map": {"a": 0}}, 'spec.ruled-map[a]: Invalid value: "integer": failed rule: self > 0'),
    ],
)
def test_errors_have_the_messages_of_the_api_server(spec: dict[str, Any], message: str) -> None:
    assert errors(**spec) == [message]


def test_no_rule_is_evaluated_where_types_are_wrong() -> None:
    assert errors(flag="x", ruled={"min": 5, "max": 1}) == [
        'spec.flag: Invalid value: "string": spec.flag in body must be of type boolean: "string"',
        UNCHECKED,
    ]


def test_transition_rules_see_the_old_value() -> None:
    assert changes({"ruled": {"fixed": "x"}}, {"ruled": {"fixed": "y"}}) == [
        'spec.ruled.fixed: Invalid value: "string": is immutable'
    ]
    assert changes({}, {"ruled": {"fixed": "y"}}) == []
    assert changes({"growing": 5}, {"growing": 4}) == ['spec.growing: Invalid value: "integer": may only grow']
    assert changes({"growing": 5}, {"growing": 6}) == []


def test_errors_of_unchanged_parts_are_ignored() -> None:
    assert changes({"name": "a"}, {"name": "a"}) == []
    assert changes({"name": "a"}, {"name": "b"}) != []
    assert changes({"ruled": {"max": 500}}, {"ruled": {"max": 500}}) == []


def test_only_the_status_is_validated_when_the_status_changes() -> None:
    old = widget_crd.widget(name="a")
    new = copy.deepcopy(old) | {"status": {"phase": 5}}
    messages = [str(error) for error in custom_resources.validate_status(new, old, SERVED)]
    assert messages == ['status.phase: Invalid value: "integer": phase in body must be of type string: "integer"', UNCHECKED]


@pytest.mark.parametrize(
    ("rule", "value", "expected"),
    [
        ("self.exists(x, x == 1)", [1, 2], True),
        ("self.isSorted() && self.sum() == 3 && self.max() == 2", [1, 2], True),
        ("self.find('[0-9]+') == '12'", "a12b", True),
        ("self.findAll('[0-9]') == ['1', '2']", "a1b2", True),
        ("quantity(self).isGreaterThan(quantity('1Mi'))", "1Gi", True),
        ("quantity(self).add(quantity('1')).compareTo(quantity('1500m')) == 0", "500m", True),
        ("isQuantity(self)", "x", False),
        ("url(self).getHost() == 'a:80' && url(self).getEscapedPath() == '/b'", "http://a:80/b", True),
        ("isURL(self)", "not a url", False),
        ("ip(self).family() == 6", "::1", True),
        ("cidr('10.0.0.0/8').containsIP(self)", "10.1.2.3", True),
        ("sets.contains(self, [1])", [1, 2], True),
        ("self.split(',').size() == 2 && self.upperAscii() == 'A,B'", "a,b", True),
        ("self.?a.orValue(5) == 5", {"b": 1}, True),
        ("has(self.__namespace__) && self.x__dash__y == 1", {"namespace": "n", "x-y": 1}, True),
        ("self.b == 1", {"a": 1}, False),
        ("duration(self) < duration('1h')", "5m", True),
    ],
)
def test_rules_can_use_the_cel_library_of_kubernetes(rule: str, value: Any, expected: bool) -> None:
    properties: dict[str, Any] = {key: {} for key in value} if isinstance(value, dict) else {}
    node = schemas.Structure({"properties": properties, "x-kubernetes-validations": [{"rule": rule}]})
    assert list(cel.compile_errors(node)) == []
    assert (cel.check(value, node) == []) is expected


def test_an_error_in_a_rule_rejects_the_object() -> None:
    node = schemas.Structure({"type": "object", "x-kubernetes-validations": [{"rule": "self.a.b == 1"}]})
    (error,) = cel.check({"a": {}}, node, "spec")
    assert str(error) == 'spec: Invalid value: "object": no such key: b evaluating rule: self.a.b == 1'


def test_a_rule_of_an_integer_that_is_written_as_a_float() -> None:
    schema = {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0"}]}
    (error,) = cel.check(1.0, schemas.Structure(schema), "spec.x")
    assert str(error).endswith("invalid data, expected int, got float64 evaluating rule: self > 0")


def test_a_rule_that_cannot_be_compiled_is_reported_and_not_enforced() -> None:
    schema = {"type": "object", "x-kubernetes-validations": [{"rule": "self.nonsense()"}]}
    (message,) = custom_resources.unenforced_rules(schema)
    assert message.startswith("self.nonsense(): ")
    assert cel.check({}, schemas.of(schema)) == []

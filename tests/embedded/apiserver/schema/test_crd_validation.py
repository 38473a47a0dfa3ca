from __future__ import annotations

import copy
from typing import Any

import pytest
from tests.embedded.apiserver.schema import crd_cases, widget_crd

from traincrew.embedded.apiserver.registry import crd_strategy
from traincrew.embedded.apiserver.schema import crd_validation
from traincrew.embedded.apiserver.schema import crds as schema_crds
from traincrew.validation import crds as validation_crds


def defaulted(crd: dict[str, Any]) -> dict[str, Any]:
    schema_crds.default(crd)
    crd["status"] = {"storedVersions": schema_crds.stored_versions(crd)}
    return crd


def test_missing_names_are_derived() -> None:
    names = defaulted(crd_cases.gadgets())["spec"]["names"]
    assert names == {"plural": "gadgets", "kind": "Gadget", "singular": "gadget", "listKind": "GadgetList"}


@pytest.mark.parametrize("crd", validation_crds.crds(), ids=lambda crd: str(crd["metadata"]["name"]))
def test_our_definitions_are_valid_and_all_their_rules_are_enforced(crd: dict[str, Any]) -> None:
    definition = defaulted(copy.deepcopy(crd))
    assert crd_validation.validate(definition) == []
    assert schema_crds.unenforced_rules(definition) == []


def test_only_the_definitions_of_this_release_skip_validation() -> None:
    own = validation_crds.crds()[0]
    strategy = crd_strategy.CustomResourceDefinitionStrategy(lambda: (), lambda: "", {own["metadata"]["name"]: own}.get)
    theirs = defaulted(copy.deepcopy(own))
    theirs["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["type"] = "nonsense"
    assert strategy.validate(defaulted(copy.deepcopy(own))) == []
    assert strategy.validate(theirs) == crd_validation.validate(theirs) != []


def test_a_version_is_served_with_all_its_fields() -> None:
    crd = validation_crds.crds()[-1]
    for served in schema_crds.resources(crd):
        assert served.storage_version in ("", crd["spec"]["versions"][0]["name"])
        assert served.categories == ("kubeflow", "training")
        assert [column.name for column in served.columns][:2] == ["State", "Age"]
        assert served.subresource("status") is not None


def test_versions_that_are_not_served_are_left_out() -> None:
    crd = defaulted(widget_crd.definition())
    crd["spec"]["versions"].append({**crd["spec"]["versions"][0], "name": "v2", "served": False, "storage": False})
    assert [each.version for each in schema_crds.resources(crd)] == ["v1"]


def test_new_names_are_accepted_and_the_definition_is_established() -> None:
    status = schema_crds.accept_names(defaulted(crd_cases.gadgets()), [], "now")
    assert status["acceptedNames"] == {"plural": "gadgets", "kind": "Gadget", "singular": "gadget", "listKind": "GadgetList"}
    assert [(each["type"], each["status"], each["reason"]) for each in status["conditions"]] == [
        ("NamesAccepted", "True", "NoConflicts"),
        ("Established", "True", "InitialNamesAccepted"),
    ]
    assert status["storedVersions"] == ["v1"]


def test_names_of_another_definition_are_rejected() -> None:
    first, second = defaulted(crd_cases.gadgets()), defaulted(crd_cases.gadgets())
    first["status"] = schema_crds.accept_names(first, [], "then")
    second["metadata"]["name"], second["spec"]["names"]["plural"] = "others.checks.example", "others"
    status = schema_crds.accept_names(second, [first, second], "now")
    conditions = {each["type"]: each for each in status["conditions"]}
    assert conditions["NamesAccepted"]["reason"] == "ListKindConflict"
    assert conditions["NamesAccepted"]["message"] == '"GadgetList" is already in use'
    assert conditions["Established"]["status"] == "False"
    assert status["acceptedNames"] == {"plural": "others", "kind": ""}


def test_an_unchanged_condition_keeps_its_transition_time() -> None:
    crd = defaulted(crd_cases.gadgets())
    crd["status"] = schema_crds.accept_names(crd, [], "then")
    assert schema_crds.accept_names(crd, [crd], "now") == crd["status"]


def test_a_rule_that_cannot_be_compiled_is_reported_in_a_condition() -> None:
    crd = defaulted(crd_cases.gadgets())
    version = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    version["x-kubernetes-validations"] = [{"rule": "self.nonsense()"}]
    conditions = schema_crds.accept_names(crd, [], "now")["conditions"]
    assert conditions[-1]["type"] == schema_crds.UNENFORCED
    assert conditions[1]["status"] == "True"


def test_scope_and_kind_stay_once_they_are_established() -> None:
    old = defaulted(crd_cases.gadgets())
    old["metadata"]["resourceVersion"] = "1"
    old["status"] = schema_crds.accept_names(old, [], "now")
    new = copy.deepcopy(old)
    new["spec"]["scope"], new["spec"]["names"]["kind"] = "Cluster", "Other"
    assert [str(error) for error in crd_validation.validate_update(new, old)] == [
        'spec.scope: Invalid value: "Cluster": field is immutable',
        'spec.names.kind: Invalid value: "Other": field is immutable',
    ]


def test_every_definition_is_accepted_or_rejected() -> None:
    for _, crd in crd_cases.cases():
        assert isinstance(crd_validation.validate(defaulted(crd)), list)


def with_patterns(*patterns: str) -> dict[str, Any]:
    crd = crd_cases.gadgets()
    fields = {f"p{number}": {"type": "string", "pattern": pattern} for number, pattern in enumerate(patterns)}
    crd["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": {"type": "object", "properties": fields}}
    return defaulted(crd)


def test_patterns_of_go_are_accepted_and_those_of_other_languages_rejected() -> None:
    # The first is that of Kueue's AdmissionCheck.
    assert crd_validation.validate(with_patterns("^(?i)[a-z]+$", r"\pL", r"\Qa.b\E", "(?U)a+")) == []
    errors = [str(error) for error in crd_validation.validate(with_patterns("a(?=b)", "a*+"))]
    assert [each.partition("isn't: ")[2] for each in errors] == [
        "error parsing regexp: invalid or unsupported Perl syntax: `(?=`",
        "error parsing regexp: invalid nested repetition operator: `*+`",
    ]


def test_the_patterns_of_a_definition_are_compiled_up_to_a_limit() -> None:
    large = [rf"\pL{{{number}}}" for number in range(100, 200)]
    errors = crd_validation.validate(with_patterns(*large))
    assert [error.message for error in errors] == ["Forbidden: the patterns of the schema are too large"]
    assert crd_validation.validate(with_patterns(*(f"^a{{0,{number}}}$" for number in range(1, 500)))) == []

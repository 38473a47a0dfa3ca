"""Which permissions `traincrew doctor --cluster` asks for: those of the operator's flags and variables, and no others."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.cluster import installed_operators
from tests.cluster.installed_operators import OWN_LABELS

from traincrew.cli.doctor.cluster import permissions
from traincrew.cli.installation.deployments import Deployment
from traincrew.kinds import KINDS


def asked(*flags: str, sharing: bool = False, env: list[dict[str, Any]] | None = None) -> set[tuple[str, str, str]]:
    """Verb, resource with its group, and namespace."""
    manifest = installed_operators.deployment("traincrew", OWN_LABELS, "operator", *flags)
    manifest["spec"]["template"]["spec"]["containers"][0]["env"] = env or []
    deployment = msgspec.convert(manifest, Deployment)
    needed = permissions.needed(deployment, sharing=sharing)
    return {(each.verb, str(each).removeprefix(f"{each.verb} "), each.namespace) for each in needed}


def resources(found: set[tuple[str, str, str]]) -> set[str]:
    return {resource for _, resource, _ in found}


def test_without_flags_all_kinds_of_all_namespaces_are_served_without_gangs() -> None:
    found = asked()
    assert {f"{kind.plural}.kubeflow.org" for kind in KINDS} <= resources(found)
    assert not any("podgroups" in each for each in resources(found))
    assert {namespace for _, _, namespace in found} == {""}


@pytest.mark.parametrize(
    ("scheduler", "groups"),
    [
        ("volcano", {"podgroups.scheduling.volcano.sh"}),
        ("my-scheduler", {"podgroups.scheduling.x-k8s.io"}),
        ("none", set()),
    ],
)
def test_the_gang_scheduler_decides_which_pod_groups_are_asked_for(scheduler: str, groups: set[str]) -> None:
    assert {each for each in resources(asked(f"--gang-scheduler-name={scheduler}")) if "podgroups" in each} == groups


def test_only_the_enabled_kinds_are_asked_for() -> None:
    found = resources(asked("--enable-scheme=jaxjob"))
    assert {each for each in found if each.endswith("jobs.kubeflow.org")} == {"jaxjobs.kubeflow.org"}
    assert "roles.rbac.authorization.k8s.io" not in found


@pytest.mark.parametrize(
    ("flags", "env"),
    [
        (("--namespace=team-a", "--namespace", "team-b"), None),
        ((), [{"name": "KUBEFLOW_NAMESPACE", "value": "team-a, team-b"}]),
    ],
)
def test_the_namespaces_are_those_of_the_flags_or_of_the_variable(flags: tuple[str, ...], env: list[dict[str, Any]]) -> None:
    assert {place for _, _, place in asked(*flags, env=env)} == {"team-a", "team-b"}


def test_the_variable_may_be_the_namespace_of_the_pod() -> None:
    field = {"name": "KUBEFLOW_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}
    assert {place for _, _, place in asked(env=[field])} == {"kubeflow"}


@pytest.mark.parametrize(
    ("flag", "expected"),
    [("--leader-elect", True), ("-leader-elect=true", True), ("--leader-elect=false", False), ("--no-leader-elect", False)],
)
def test_the_lease_is_asked_for_with_leader_election_alone(flag: str, expected: bool) -> None:
    assert (("update", "leases.coordination.k8s.io", "kubeflow") in asked(flag)) == expected


def test_reviews_and_nodes_are_asked_for_when_they_are_used() -> None:
    assert "tokenreviews.authentication.k8s.io" in resources(asked("--metrics-authentication"))
    assert "nodes" in resources(asked(sharing=True))
    assert not {"nodes", "tokenreviews.authentication.k8s.io"} & resources(asked())

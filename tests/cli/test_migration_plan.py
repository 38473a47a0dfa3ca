"""The steps of `traincrew migrate`: their order, and which Go operators are started on the way back."""

from __future__ import annotations

import msgspec
import pytest

from traincrew.cli.installation import deployments, migration_plan, webhooks
from traincrew.cli.installation.deployments import Deployment, Installed
from traincrew.cli.installation.migration_plan import REPLICAS, MigrationBlocked, MigrationStep
from traincrew.cli.installation.webhooks import WebhookConfiguration

Labels = dict[str, str]
TRAINING, MPI = {"control-plane": "kubeflow-training-operator"}, {"app": "mpi-operator"}
OWN = {"app.kubernetes.io/name": "traincrew"}
WEBHOOK = "validator.training-operator.kubeflow.org"


def deployment(name: str, labels: Labels, replicas: int, before: str = "", namespace: str = "kubeflow") -> Deployment:
    meta = {"name": name, "namespace": namespace, "annotations": {REPLICAS: before} if before else {}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}}}
    return msgspec.convert({"metadata": meta, "spec": spec}, Deployment)


def training(replicas: int, before: str = "") -> Deployment:
    return deployment("training-operator", TRAINING, replicas, before)


def mpi(replicas: int, before: str = "") -> Deployment:
    return deployment("mpi-operator", MPI, replicas, before, "mpi-operator")


def installed(*others: Deployment, own: int = 1) -> Installed:
    return deployments.sort([deployment("traincrew", OWN, own), *others])


def configured(before: str = '{"a":"Fail"}') -> dict[str, WebhookConfiguration]:
    hooks = [{"name": "a", "failurePolicy": "Ignore"}]
    meta = {"name": WEBHOOK, "annotations": {webhooks.BEFORE: before}}
    return {"training-operator": msgspec.convert({"metadata": meta, "webhooks": hooks}, WebhookConfiguration)}


def texts(steps: list[MigrationStep] | MigrationBlocked) -> list[str]:
    assert not isinstance(steps, MigrationBlocked), steps
    return [each.text for each in steps]


def test_the_webhook_is_enforced_again_when_the_go_operator_is_ready() -> None:
    assert texts(migration_plan.to_go(installed(training(0, "2")), configured())) == [
        "scale traincrew (kubeflow/traincrew) to 0",
        "wait until the pods of traincrew are gone",
        "scale training-operator (kubeflow/training-operator) to 2",
        "wait until training-operator (kubeflow/training-operator) is ready",
        f"set failurePolicy of validatingwebhookconfigurations {WEBHOOK} back",
    ]


def test_an_operator_that_was_stopped_before_the_migration_stays_stopped() -> None:
    steps = texts(migration_plan.to_go(installed(training(0, "2"), mpi(0)), {}))
    assert not [each for each in steps if "mpi-operator" in each]


def test_an_interrupted_way_back_is_continued() -> None:
    """The annotation is gone since the Deployment was scaled."""
    assert texts(migration_plan.to_go(installed(training(2), mpi(0), own=0), configured())) == [
        "wait until the pods of traincrew are gone",
        "wait until training-operator (kubeflow/training-operator) is ready",
        f"set failurePolicy of validatingwebhookconfigurations {WEBHOOK} back",
    ]


def test_the_webhook_of_an_operator_that_stays_stopped_keeps_rejecting_nothing() -> None:
    steps = texts(migration_plan.to_go(installed(training(0), mpi(0, "1")), configured()))
    assert not [each for each in steps if "failurePolicy" in each]


@pytest.mark.parametrize("before", ["{}", "edited by hand"])
def test_policies_that_were_not_changed_are_not_set(before: str) -> None:
    steps = texts(migration_plan.to_go(installed(training(0, "2")), configured(before)))
    assert not [each for each in steps if "failurePolicy" in each]


def test_operators_that_migrate_has_not_stopped_are_named_and_not_started() -> None:
    blocked = migration_plan.to_go(installed(training(0), mpi(0)), {})
    assert isinstance(blocked, MigrationBlocked)
    assert "none of kubeflow/training-operator, mpi-operator/mpi-operator" in blocked.reason
    assert "--start NAMESPACE/NAME" in blocked.remedy


@pytest.mark.parametrize("name", ["mpi-operator", "mpi-operator/mpi-operator"])
def test_the_operator_that_is_named_is_started(name: str) -> None:
    steps = texts(migration_plan.to_go(installed(training(0, "2"), mpi(0)), {}, [name]))
    assert [each for each in steps if each.startswith("scale")] == [
        "scale traincrew (kubeflow/traincrew) to 0",
        "scale mpi-operator (mpi-operator/mpi-operator) to 1",
    ]


def test_a_name_that_is_misspelt_starts_nothing() -> None:
    blocked = migration_plan.to_go(installed(training(0, "2")), {}, ["trainig-operator"])
    assert isinstance(blocked, MigrationBlocked)
    assert blocked.remedy == "Choose from kubeflow/training-operator."

"""The steps from a Go operator to traincrew, and back. Every step can be repeated, and none deletes anything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from traincrew.cli.installation.deployments import Deployment, Installed
from traincrew.validation.crd_install_command import INSTALL

REPLICAS = "traincrew.kubeflow.org/replicas-before-migration"
"""Annotation on a Deployment that was scaled to zero."""
WEBHOOKS = "validatingwebhookconfigurations"

Action = Literal["update-crds", "failure-policy", "scale", "wait-gone", "wait-ready"]


class MigrationStep(NamedTuple):
    action: Action
    text: str
    command: str
    """What does the same with kubectl."""
    deployment: Deployment | None = None
    name: str = ""
    """Of a webhook configuration."""
    value: str = ""
    """The failure policy, or the number of replicas."""


class MigrationBlocked(NamedTuple):
    reason: str
    remedy: str


def to_traincrew(installed: Installed, outdated: bool, webhooks: dict[str, str]) -> list[MigrationStep] | MigrationBlocked:
    """webhooks: failure policies of the Go operators' webhook configurations, by name."""
    if not installed.traincrew:
        return MigrationBlocked(
            "traincrew is not installed", "Install it first. It leaves the jobs to the Go operator until then."
        )
    return [*_crds(outdated), *_policies(webhooks, "Ignore"), *_stop(installed.others), *_ready(installed.traincrew)]


def to_go(installed: Installed, webhooks: dict[str, str]) -> list[MigrationStep] | MigrationBlocked:
    if not installed.others:
        return MigrationBlocked("no Deployment of a Go operator found", "Install the Go operator with 0 replicas first.")
    own = [("traincrew", each) for each in installed.traincrew]
    started = [
        _scale(name, each, each.metadata.annotations.get(REPLICAS, "1"))
        for name, each in installed.others
        if not each.spec.replicas
    ]
    return [*_stop(own), *_policies(webhooks, "Fail"), *started]


def _crds(outdated: bool) -> Iterator[MigrationStep]:
    if outdated:
        text = "update the CRDs; they still have all fields of the Go operators"
        yield MigrationStep("update-crds", text, INSTALL)


def _policies(webhooks: dict[str, str], wanted: str) -> Iterator[MigrationStep]:
    """A webhook whose server is gone would reject every job."""
    for name, policy in sorted(webhooks.items()):
        if policy != wanted:
            command = f"kubectl edit {WEBHOOKS} {name}   # failurePolicy: {wanted}"
            yield MigrationStep(
                "failure-policy", f"set failurePolicy of {WEBHOOKS} {name} to {wanted}", command, None, name, wanted
            )


def _stop(operators: list[tuple[str, Deployment]]) -> Iterator[MigrationStep]:
    for name, each in operators:
        if each.spec.replicas:
            yield _scale(name, each, "0")
        wait = f"kubectl -n {each.metadata.namespace} wait --for=delete pod -l {each.selector} --timeout=120s"
        yield MigrationStep("wait-gone", f"wait until the pods of {name} are gone", wait, each)


def _scale(name: str, deployment: Deployment, replicas: str) -> MigrationStep:
    meta = deployment.metadata
    command = f"kubectl -n {meta.namespace} scale deployment {meta.name} --replicas={replicas}"
    return MigrationStep("scale", f"scale {name} ({deployment.reference}) to {replicas}", command, deployment, "", replicas)


def _ready(own: list[Deployment]) -> Iterator[MigrationStep]:
    for each in own:
        meta = each.metadata
        if not each.spec.replicas:
            yield _scale("traincrew", each, meta.annotations.get(REPLICAS, "1"))
        command = f"kubectl -n {meta.namespace} rollout status deployment {meta.name}"
        yield MigrationStep("wait-ready", f"wait until traincrew ({each.reference}) is ready", command, each)

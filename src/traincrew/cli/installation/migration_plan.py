"""The steps from a Go operator to traincrew, and back. Every step can be repeated, and none deletes anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from traincrew.cli.installation import webhooks
from traincrew.cli.installation.deployments import Deployment, Installed
from traincrew.cli.installation.webhooks import WebhookConfiguration
from traincrew.validation.crd_install_command import INSTALL

REPLICAS = "traincrew.kubeflow.org/replicas-before-migration"
"""Annotation on a Deployment that was scaled to zero."""

Action = Literal["update-crds", "failure-policy", "restore-failure-policy", "scale", "wait-gone", "wait-ready"]
Webhooks = Mapping[str, WebhookConfiguration]
"""By Go operator."""


class MigrationStep(NamedTuple):
    action: Action
    text: str
    command: str
    """What does the same with kubectl."""
    deployment: Deployment | None = None
    name: str = ""
    """Of a webhook configuration."""
    value: str = ""
    """The number of replicas."""


class MigrationBlocked(NamedTuple):
    reason: str
    remedy: str


def to_traincrew(installed: Installed, outdated: bool, configured: Webhooks) -> list[MigrationStep] | MigrationBlocked:
    """outdated: whether CRDs lack fields of this version."""
    if not installed.traincrew:
        return MigrationBlocked(
            "traincrew is not installed", "Install it first. It leaves the jobs to the Go operator until then."
        )
    own = [("traincrew", each) for each in installed.traincrew]
    return [*_crds(outdated), *_ignore_failures(configured), *_stop(installed.others), *_start(own), *_ready(own)]


def to_go(installed: Installed, configured: Webhooks, named: Sequence[str] = ()) -> list[MigrationStep] | MigrationBlocked:
    """named: Deployments to start in place of those that a migration has stopped.

    The webhooks reject jobs again only when the server behind them is ready.
    """
    if not installed.others:
        return MigrationBlocked("no Deployment of a Go operator found", "Install the Go operator with 0 replicas first.")
    started = _to_start(installed, named)
    if isinstance(started, MigrationBlocked):
        return started
    own = [("traincrew", each) for each in installed.traincrew]
    running = [each for each in installed.others if each[1].spec.replicas or each in started]
    serving = {name: configured[name] for name, _ in running if name in configured}
    return [*_stop(own), *_start(started), *_ready(running), *_restore_failures(serving)]


def _to_start(installed: Installed, named: Sequence[str]) -> list[tuple[str, Deployment]] | MigrationBlocked:
    """An operator that was stopped before the migration stays stopped."""
    stopped = [each for each in installed.others if not each[1].spec.replicas]
    choice = ", ".join(each.reference for _, each in stopped)
    unknown = [name for name in named if not any(_is_named(each, [name]) for _, each in installed.others)]
    if unknown:
        references = ", ".join(each.reference for _, each in installed.others)
        return MigrationBlocked(f"no Go operator has the Deployment {unknown[0]!r}", f"Choose from {references}.")
    if named:
        return [each for each in stopped if _is_named(each[1], named)]
    recorded = [each for each in stopped if REPLICAS in each[1].metadata.annotations]
    if recorded or len(stopped) < len(installed.others):
        return recorded
    reason = f"it is not known which Go operator to start: `traincrew migrate` has stopped none of {choice}"
    return MigrationBlocked(reason, "Name it: --start NAMESPACE/NAME.")


def _is_named(deployment: Deployment, names: Sequence[str]) -> bool:
    return deployment.reference in names or deployment.metadata.name in names


def _crds(outdated: bool) -> Iterator[MigrationStep]:
    if outdated:
        text = "update the CRDs; they still have all fields of the Go operators"
        yield MigrationStep("update-crds", text, INSTALL)


def _ignore_failures(configured: Webhooks) -> Iterator[MigrationStep]:
    for each in configured.values():
        if each.rejecting:
            yield _policy("failure-policy", each, "set failurePolicy of {} to Ignore", webhooks.IGNORE)


def _restore_failures(configured: Webhooks) -> Iterator[MigrationStep]:
    for each in configured.values():
        if each.before:
            wanted = ", ".join(sorted({*each.before.values()}))
            yield _policy("restore-failure-policy", each, "set failurePolicy of {} back", wanted)


def _policy(action: Action, configuration: WebhookConfiguration, text: str, wanted: str) -> MigrationStep:
    name = configuration.metadata.name
    command = f"kubectl edit {webhooks.PLURAL} {name}   # failurePolicy: {wanted}"
    return MigrationStep(action, text.format(f"{webhooks.PLURAL} {name}"), command, None, name)


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


def _start(operators: list[tuple[str, Deployment]]) -> Iterator[MigrationStep]:
    for name, each in operators:
        if not each.spec.replicas:
            yield _scale(name, each, each.metadata.annotations.get(REPLICAS, "1"))


def _ready(operators: list[tuple[str, Deployment]]) -> Iterator[MigrationStep]:
    for name, each in operators:
        command = f"kubectl -n {each.metadata.namespace} rollout status deployment {each.metadata.name}"
        yield MigrationStep("wait-ready", f"wait until {name} ({each.reference}) is ready", command, each)

"""Runs all checks of a cluster. They change nothing."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

from traincrew import errors
from traincrew.cli.doctor.check_result import CheckResult, fail, ok, warn
from traincrew.cli.doctor.cluster import (
    clocks,
    definitions,
    gang_schedulers,
    name_service,
    one_machine,
    other_operators,
    permissions,
)
from traincrew.cli.installation import deployments
from traincrew.cli.installation.deployments import Deployment, Installed
from traincrew.client import clock
from traincrew.client.remote import RemoteClient
from traincrew.kinds import KINDS
from traincrew.kinds.kind import JobKind

OLDEST = 27
"""Minor version of the oldest Kubernetes that is supported."""
INSTALL = "Install the operator as docs/install.md describes."


async def run(client: RemoteClient) -> AsyncIterator[CheckResult]:
    try:
        yield _version(json.loads(await client.fetch("/version")))
    except errors.ApiError as error:
        yield fail("api", f"no answer from the API server: {error.message}", "Check the kubeconfig and the network.")
        return
    embedded = await one_machine.has_operator(client)
    operators: list[CheckResult] = []
    try:
        installed = await deployments.find(client)
    except errors.Forbidden as error:
        operators.append(warn("operator", f"not known: {error.message}", "Ask an administrator to run this command."))
        installed = Installed()
    else:
        operators.append(one_machine.operator() if embedded and not installed.traincrew else _operator(installed.traincrew))
        operators += await other_operators.check(client, installed, clock.now())
    for result in (*await definitions.check(client, _served(installed.traincrew)), *operators):
        yield result
    for deployment in installed.traincrew:
        yield await permissions.check(client, deployment)
        yield await gang_schedulers.check(client, deployment, installed.found)
        yield await clocks.check(client, deployment)
    yield one_machine.name_service() if embedded else await name_service.check(client)


def _version(answer: dict[str, str]) -> CheckResult:
    text = f"Kubernetes {answer.get('gitVersion', '')}"
    minor = "".join(sign for sign in answer.get("minor", "") if sign.isdigit())
    if minor.isdecimal() and int(minor) < OLDEST:
        return fail("api", f"{text} is not supported", f"Update the cluster to Kubernetes 1.{OLDEST} or later.")
    return ok("api", text)


def _served(operators: list[Deployment]) -> list[JobKind]:
    """The kinds of all operators; all kinds if none is installed."""
    return [kind for kind in KINDS if not operators or any(kind in each.kinds for each in operators)]


def _operator(found: list[Deployment]) -> CheckResult:
    if not found:
        return warn("operator", "no Deployment of traincrew", INSTALL)
    for each in found:
        if each.status.ready_replicas == 0:
            remedy = f"Run `kubectl -n {each.metadata.namespace} describe deployment {each.metadata.name}` and read its log."
            return fail("operator", f"{each.reference} has no ready replica of {each.spec.replicas}", remedy)
    names = ", ".join(f"{each.reference} ({each.status.ready_replicas}/{each.spec.replicas} ready)" for each in found)
    served = [namespace for each in found for namespace in each.namespaces or ("",)]
    if len(found) > 1 and (not all(served) or len(set(served)) < len(served)):
        return fail("operator", f"several Deployments serve the same namespaces: {names}", "Delete all but one of them.")
    return ok("operator", names)

"""Executes the steps of a migration on a cluster."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import msgspec

from traincrew import errors
from traincrew.cli.installation import deployments, migration_plan
from traincrew.cli.installation.deployments import DEPLOYMENTS, Deployment
from traincrew.cli.installation.migration_plan import REPLICAS, MigrationBlocked, MigrationStep
from traincrew.client import interfaces
from traincrew.kinds import KINDS
from traincrew.model import naming, resources
from traincrew.model.resources import Resource
from traincrew.validation import crds, outdated_crds

WEBHOOKS = Resource(
    "admissionregistration.k8s.io", "v1", migration_plan.WEBHOOKS, "ValidatingWebhookConfiguration", namespaced=False
)
WEBHOOK_NAMES = ("validator.training-operator.kubeflow.org",)
"""Configurations of webhooks for jobs that the Go operators install."""
POLL, TIMEOUT = 1.0, 180.0
"""Seconds."""


class MigrationFailed(errors.TraincrewError):
    """A step did not succeed. All steps can be repeated."""


async def steps(client: interfaces.Client, back: bool) -> list[MigrationStep] | MigrationBlocked:
    installed, webhooks = await deployments.find(client), await _webhooks(client)
    if back:
        return migration_plan.to_go(installed, webhooks)
    return migration_plan.to_traincrew(installed, bool(await _outdated(client)), webhooks)


async def summary(client: interfaces.Reader) -> str:
    """The jobs that are not finished, and their pods, which are kept."""
    counts = []
    for kind in KINDS:
        with contextlib.suppress(errors.NotFound):
            jobs = await _list(client, kind.resource)
            unfinished = [each for each in jobs if not _finished(each)]
            if unfinished:
                counts.append(f"{len(unfinished)} {kind.kind}{'s' if len(unfinished) > 1 else ''}")
    pods = await running_pods(client)
    return f"{', '.join(counts) or 'no job'} not finished, {len(pods)} running pod{'' if len(pods) == 1 else 's'}"


async def running_pods(client: interfaces.Reader) -> dict[str, str]:
    """The running pods of jobs: names by UID."""
    found = await _list(client, resources.PODS, naming.WATCH_LABEL)
    return {
        each["metadata"]["uid"]: f"{each['metadata']['namespace']}/{each['metadata']['name']}"
        for each in found
        if (each.get("status") or {}).get("phase") == "Running"
    }


async def execute(client: interfaces.Client, step: MigrationStep) -> None:
    match step.action:
        case "update-crds":
            await _update_crds(client)
        case "failure-policy":
            await _set_failure_policy(client, step.name, step.value)
        case "scale":
            await _scale(client, _deployment(step), int(step.value))
        case "wait-gone":
            await _wait(lambda: _is_gone(client, _deployment(step)), f"{step.text}: they still exist")
        case "wait-ready":
            await _wait(lambda: _is_ready(client, _deployment(step)), f"{step.text}: read its log and /readyz")


def _deployment(step: MigrationStep) -> Deployment:
    assert step.deployment is not None
    return step.deployment


async def _wait(condition: Callable[[], Any], text: str) -> None:
    deadline = asyncio.get_running_loop().time() + TIMEOUT
    while not await condition():
        if asyncio.get_running_loop().time() > deadline:
            raise MigrationFailed(f"Timed out after {TIMEOUT:.0f} s: {text}. Run the command again to continue.")
        await asyncio.sleep(POLL)


async def _is_gone(client: interfaces.Client, deployment: Deployment) -> bool:
    return not await _list(client, resources.PODS, deployment.selector, deployment.metadata.namespace)


async def _is_ready(client: interfaces.Client, deployment: Deployment) -> bool:
    raw = await client.get(DEPLOYMENTS, deployment.metadata.namespace, deployment.metadata.name)
    return msgspec.json.decode(raw, type=Deployment).status.ready_replicas > 0


async def _scale(client: interfaces.Client, deployment: Deployment, replicas: int) -> None:
    meta = deployment.metadata
    body: dict[str, Any] = {"metadata": {"uid": meta.uid}, "spec": {"replicas": replicas}}
    if replicas == 0:
        body["metadata"]["annotations"] = {REPLICAS: str(deployment.spec.replicas)}
    await client.patch(DEPLOYMENTS, meta.namespace, meta.name, msgspec.json.encode(body))


async def _outdated(client: interfaces.Client) -> list[str]:
    """Names of the CRDs that do not exist or lack fields."""
    names = []
    for definition in crds.crds():
        name = definition["metadata"]["name"]
        try:
            stored = msgspec.json.decode(await client.get(resources.CRDS, None, name))
        except errors.NotFound:
            names.append(name)
            continue
        versions = {each["name"]: each for each in stored["spec"]["versions"]}
        wanted = [each["name"] for each in definition["spec"]["versions"]]
        if any(each not in versions or _lacks_fields(versions[each]) for each in wanted):
            names.append(name)
    return names


def _lacks_fields(version: dict[str, Any]) -> bool:
    return bool(outdated_crds.missing_status_fields((version.get("schema") or {}).get("openAPIV3Schema") or {}))


async def _update_crds(client: interfaces.Client) -> None:
    outdated = await _outdated(client)
    for definition in crds.crds():
        name = definition["metadata"]["name"]
        if name not in outdated:
            continue
        try:
            stored = msgspec.json.decode(await client.get(resources.CRDS, None, name))
        except errors.NotFound:
            await client.create(resources.CRDS, None, msgspec.json.encode(definition))
        else:
            await client.replace(resources.CRDS, None, name, msgspec.json.encode({**stored, "spec": definition["spec"]}))


async def _webhooks(client: interfaces.Client) -> dict[str, str]:
    found = {}
    for name in WEBHOOK_NAMES:
        with contextlib.suppress(errors.NotFound):
            configuration = msgspec.json.decode(await client.get(WEBHOOKS, None, name))
            policies = {each.get("failurePolicy", "Fail") for each in configuration.get("webhooks") or ()}
            found[name] = policies.pop() if len(policies) == 1 else "mixed"
    return found


async def _set_failure_policy(client: interfaces.Client, name: str, policy: str) -> None:
    stored = msgspec.json.decode(await client.get(WEBHOOKS, None, name))
    webhooks = [{**each, "failurePolicy": policy} for each in stored.get("webhooks") or ()]
    await client.replace(WEBHOOKS, None, name, msgspec.json.encode({**stored, "webhooks": webhooks}))


async def _list(
    client: interfaces.Reader, resource: Resource, labels: str = "", namespace: str | None = None
) -> list[dict[str, Any]]:
    async with contextlib.aclosing(client.pages(resource, namespace, labels=labels)) as pages:
        return [msgspec.json.decode(raw) async for page in pages for raw in page.items]


def _finished(job: dict[str, Any]) -> bool:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return any(each["type"] in ("Succeeded", "Failed") and each["status"] == "True" for each in conditions)

"""Executes the steps of a migration on a cluster."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from traincrew import errors
from traincrew.cli.installation import deployments, migration_plan, webhooks
from traincrew.cli.installation.deployments import DEPLOYMENTS, Deployment
from traincrew.cli.installation.migration_plan import REPLICAS, MigrationBlocked, MigrationStep
from traincrew.client import interfaces
from traincrew.kinds import KINDS
from traincrew.model import naming, resources
from traincrew.model.resources import Resource
from traincrew.validation import crds, outdated_crds

POLL, TIMEOUT = 1.0, 180.0
"""Seconds."""


class MigrationFailed(errors.TraincrewError):
    """A step did not succeed. All steps can be repeated."""


async def steps(client: interfaces.Client) -> list[MigrationStep] | MigrationBlocked:
    installed, configured = await deployments.find(client), await webhooks.find(client)
    return migration_plan.to_traincrew(installed, bool(await _outdated(client)), configured)


async def steps_back(client: interfaces.Client, named: Sequence[str]) -> list[MigrationStep] | MigrationBlocked:
    """named: Deployments of Go operators to start in place of those that a migration has stopped."""
    return migration_plan.to_go(await deployments.find(client), await webhooks.find(client), named)


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
            await webhooks.ignore_failures(client, step.name)
        case "restore-failure-policy":
            await webhooks.restore(client, step.name)
        case "scale":
            await _scale(client, _deployment(step), int(step.value))
        case "wait-gone":
            await _wait(lambda: _is_gone(client, _deployment(step)), f"{step.text}: they still exist")
        case "wait-ready":
            await _wait(lambda: _is_ready(client, _deployment(step)), f"{step.text}: read its events, its log and /readyz")


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
    # Null removes it: a Deployment that others stop later is not started again.
    recorded = {REPLICAS: None if replicas else str(deployment.spec.replicas)}
    body = {"metadata": {"uid": meta.uid, "annotations": recorded}, "spec": {"replicas": replicas}}
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


async def _list(
    client: interfaces.Reader, resource: Resource, labels: str = "", namespace: str | None = None
) -> list[dict[str, Any]]:
    async with contextlib.aclosing(client.pages(resource, namespace, labels=labels)) as pages:
        return [msgspec.json.decode(raw) async for page in pages for raw in page.items]


def _finished(job: dict[str, Any]) -> bool:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return any(each["type"] in ("Succeeded", "Failed") and each["status"] == "True" for each in conditions)

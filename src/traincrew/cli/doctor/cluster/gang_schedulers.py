"""Checks that the gang scheduler of --gang-scheduler-name is installed and runs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

import msgspec

from traincrew import errors
from traincrew.cli.doctor.check_result import CheckResult, fail, ok, warn
from traincrew.cli.installation.deployments import Deployment
from traincrew.client import interfaces
from traincrew.model import resources
from traincrew.model.meta import Struct
from traincrew.planner import gang

VOLCANO_PROGRAM, PLUGINS_IMAGE = "vc-scheduler", "scheduler-plugins/kube-scheduler"


class _Spec(Struct):
    node_name: str = ""


class _Pod(Struct):
    spec: _Spec = _Spec()


async def check(reader: interfaces.Reader, deployment: Deployment, found: Iterable[Deployment]) -> CheckResult:
    """found: all Deployments of the cluster."""
    scheduler = deployment.gang_scheduler
    if not scheduler:
        return ok("scheduler", "gang scheduling is off")
    group = gang.resource(scheduler)
    name = f"{group.plural}.{group.group}"
    try:
        await reader.get(resources.CRDS, None, name)
    except errors.NotFound:
        text = f"--gang-scheduler-name is {scheduler}, but the CRD {name} is not installed: no job starts"
        return fail("scheduler", text, f"Install {_project(scheduler)}, or remove the flag.")
    except errors.Forbidden as error:
        return warn("scheduler", f"not known: {error.message}", "Ask an administrator to run this command.")
    return await _running(reader, scheduler, found)


async def _running(reader: interfaces.Reader, scheduler: str, found: Iterable[Deployment]) -> CheckResult:
    candidates = [each for each in found if is_scheduler(each, scheduler)]
    if ready := next((each for each in candidates if each.status.ready_replicas), None):
        return ok("scheduler", f"gang scheduler {scheduler}: {ready.reference} is ready")
    try:
        if await _has_bound_a_pod(reader, scheduler):
            return ok("scheduler", f"gang scheduler {scheduler}: pods with this schedulerName are on nodes")
    except errors.ApiError as error:
        return warn("scheduler", f"not known: {error.message}", "Ask an administrator to run this command.")
    if candidates:
        each = candidates[0]
        remedy = f"Run `kubectl -n {each.metadata.namespace} describe deployment {each.metadata.name}`."
        return fail("scheduler", f"gang scheduler {scheduler}: {each.reference} has no ready replica: no job starts", remedy)
    text = f"no scheduler of the name {scheduler} was found, and no pod with this schedulerName is on a node: no job starts"
    return warn("scheduler", text, f"Install {_project(scheduler)}, or set --gang-scheduler-name to the name of its scheduler.")


def is_scheduler(deployment: Deployment, scheduler: str) -> bool:
    """By name, program or image. The schedulerName itself is in a file that the pod mounts."""
    spec = deployment.spec.template.spec
    if gang.is_volcano(scheduler):
        programs = [word for each in spec.containers for word in (each.image, *each.words)]
        return any(VOLCANO_PROGRAM in word for word in programs) or deployment.metadata.name == "volcano-scheduler"
    return deployment.metadata.name == scheduler or any(PLUGINS_IMAGE in each.image for each in spec.containers)


async def _has_bound_a_pod(reader: interfaces.Reader, scheduler: str) -> bool:
    pages = reader.pages(resources.PODS, None, fields=f"spec.schedulerName={scheduler}")
    async with contextlib.aclosing(pages) as found:
        async for page in found:
            if any(msgspec.json.decode(raw, type=_Pod).spec.node_name for raw in page.items):
                return True
    return False


def _project(scheduler: str) -> str:
    return "Volcano" if gang.is_volcano(scheduler) else "scheduler-plugins (coscheduling)"

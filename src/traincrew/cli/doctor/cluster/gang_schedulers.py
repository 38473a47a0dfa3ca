"""Checks that the gang scheduler of --gang-scheduler-name is installed."""

from __future__ import annotations

from traincrew import errors
from traincrew.cli.doctor.finding import Finding, fail, ok, warn
from traincrew.cli.installation.deployments import Deployment
from traincrew.client import interfaces
from traincrew.model import resources
from traincrew.planner import gang


async def check(reader: interfaces.Reader, deployment: Deployment) -> Finding:
    scheduler = deployment.flag("gang-scheduler-name")
    if not scheduler or scheduler == "none":
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
    return ok("scheduler", f"gang scheduler {scheduler}: the CRD {name} is installed")


def _project(scheduler: str) -> str:
    return "Volcano" if gang.resource(scheduler) == resources.VOLCANO_POD_GROUPS else "scheduler-plugins (coscheduling)"

"""`traincrew status`: what the cluster of this machine is doing."""

from __future__ import annotations

import asyncio
import collections
import json
from typing import Any

import click

from traincrew import errors, place

MIRROR = "kubernetes.io/config.mirror"


@click.command()
@click.option("--data", metavar="DIR", default="", help="Where the cluster keeps everything.")
@click.option("-o", "output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def status(data: str, output: str) -> None:
    """Tell whether the cluster of this machine runs, where, and what is in it. Exit code 1 if it does not run."""
    where = place.Place(place.data_directory(data))
    found = where.running()
    if found is None:
        _stopped(where, output)
        raise SystemExit(1)
    told: dict[str, Any] = {"running": True, **found, "data": str(where.data), "kubeconfig": str(where.kubeconfig)}
    told |= asyncio.run(_contents(where))
    click.echo(json.dumps(told, indent=2) if output == "json" else _lines(told))


def _stopped(where: place.Place, output: str) -> None:
    pid = where.holder()
    if output == "json":
        click.echo(json.dumps({"running": False, "data": str(where.data)}, indent=2))
    elif pid:
        click.echo(f"the cluster on {where.data} is starting or stopping (process {pid})")
    else:
        click.echo(f"no cluster runs on {where.data}; `traincrew up --detach` starts one")


async def _contents(where: place.Place) -> dict[str, Any]:
    from traincrew import app
    from traincrew.client.remote import RemoteClient
    from traincrew.kinds import KINDS
    from traincrew.model import resources

    async with RemoteClient(app.connect(str(where.kubeconfig)), component="status") as client:
        try:
            jobs = {kind.kind: await _states(client, kind.resource) for kind in KINDS}
            pods = await _phases(client, resources.PODS)
        except errors.ApiError as error:
            raise errors.NotRunning(f"the cluster does not answer: {error}; see {where.log}") from error
    return {"jobs": {kind: states for kind, states in jobs.items() if states}, "pods": pods}


async def _states(client: Any, resource: Any) -> dict[str, int]:
    found: collections.Counter[str] = collections.Counter()
    async for page in client.pages(resource, None):
        for item in page.items:
            conditions = json.loads(item).get("status", {}).get("conditions") or ()
            current = [each["type"] for each in conditions if each["status"] == "True"]
            found[current[-1] if current else "New"] += 1
    return dict(found)


async def _phases(client: Any, resource: Any) -> dict[str, int]:
    found: collections.Counter[str] = collections.Counter()
    async for page in client.pages(resource, None):
        for item in page.items:
            pod = json.loads(item)
            # The pod that stands for the operator is no work of anybody's.
            if MIRROR not in (pod["metadata"].get("annotations") or {}):
                found[pod.get("status", {}).get("phase", "Unknown")] += 1
    return dict(found)


def _lines(told: dict[str, Any]) -> str:
    lines = [
        f"server      {told['server']}",
        f"process     {told['pid']}, since {told['started']}",
        f"data        {told['data']}",
        f"kubeconfig  {told['kubeconfig']}",
    ]
    for kind, states in told["jobs"].items():
        lines.append(f"{kind:<11} {_counted(states)}")
    lines.append(f"{'pods':<11} {_counted(told['pods']) or 'none'}")
    return "\n".join(lines)


def _counted(states: dict[str, int]) -> str:
    return ", ".join(f"{number} {state}" for state, number in states.items())

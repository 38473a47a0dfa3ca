"""Reads a job and what belongs to it from the API server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable

import traincrew.cli.aiohttp_import  # noqa: F401 - before others import aiohttp
from traincrew import errors
from traincrew.cli import target as cli_target
from traincrew.cli.jobs import names
from traincrew.cli.render import events, explanation, resource_holders, view
from traincrew.client import pod_logs, port
from traincrew.client.remote import RemoteClient
from traincrew.model import naming, objects, resources

ASKED_ABOUT = 10
"""Pods whose events are read; what is wrong with more of them is rarely something else."""
LAST_LINES = 20


@contextlib.asynccontextmanager
async def connected(where: cli_target.TargetOptions) -> AsyncIterator[tuple[RemoteClient, cli_target.Target]]:
    target = cli_target.target(where)
    try:
        async with RemoteClient(target.connection, component="cli") as client:
            yield client, target
    except errors.Unreachable as error:
        raise errors.Unreachable(error.message + cli_target.hint(target), reason=error.reason) from None


async def is_there(reader: port.Reader, namespace: str) -> None:
    """Raises NotFound; who may not look is not told that there is none."""
    try:
        await reader.get(resources.NAMESPACES, None, namespace)
    except errors.NotFound:
        raise errors.NotFound(
            f'namespace "{namespace}" not found. Run `traincrew ls -A` to list the jobs of all namespaces.'
        ) from None
    except errors.Forbidden:
        return


async def pods(reader: port.Reader, namespace: str | None, labels: str) -> list[objects.Pod]:
    return [view.pod(raw) async for page in reader.pages(resources.PODS, namespace, labels=labels) for raw in page.items]


async def job(reader: port.Reader, namespace: str, name: str) -> tuple[view.View, names.Found]:
    found = await names.find(reader, namespace, name)
    bare = view.view(found.kind, found.raw)
    mine = await pods(reader, namespace, view.selector(bare.job.name))
    return view.view(found.kind, found.raw, mine), found


async def evidence(client: RemoteClient, seen: view.View) -> explanation.Evidence:
    told, log, scarce = await asyncio.gather(_events(client, seen), _log(client, seen), _scarce(client, seen))
    return explanation.Evidence(tuple(told), log, tuple(scarce))


async def _scarce(client: RemoteClient, seen: view.View) -> list[str]:
    """Who holds what the job's pods find no node for."""
    wanted = resource_holders.wanted(seen)
    if not wanted:
        return []
    try:
        pods = [item async for page in client.pages(resources.PODS, None) for item in page.items]
    except errors.Forbidden:
        return []  # not everybody may see what others run
    return [line for resource in wanted if (line := resource_holders.held(resource, pods))]


async def _events(client: RemoteClient, seen: view.View) -> list[events.Event]:
    # What does not run is asked about first.
    chosen = sorted(seen.pods, key=lambda pod: pod.active)[:ASKED_ABOUT]
    asked = [seen.job.metadata, *(pod.metadata for pod in chosen)]
    found = await asyncio.gather(*(_about(client, each.namespace, each.name, each.uid) for each in asked))
    return [event for each in found for event in each]


async def _about(client: RemoteClient, namespace: str, name: str, uid: str) -> list[events.Event]:
    chosen = f"involvedObject.name={name},involvedObject.uid={uid}"
    try:
        raw = [item async for page in client.pages(resources.EVENTS, namespace, fields=chosen) for item in page.items]
    except (errors.Forbidden, errors.NotFound):
        return []  # the rest of the story can be told without
    return [events.event(each) for each in raw]


async def _log(client: RemoteClient, seen: view.View) -> str:
    """The last lines of what failed, unless the job's status has them."""
    failure = seen.failure
    if failure is None or failure.message or not failure.pod:
        return ""
    for previous in (True, False):
        place = pod_logs.LogPosition(seen.job.namespace, failure.pod, failure.container)
        with contextlib.suppress(errors.ApiError):
            wanted = pod_logs.Wanted(previous=previous, tail=LAST_LINES)
            found = [line async for bunch in pod_logs.lines(client, place, wanted) for line in bunch]
            return "\n".join(line.text.decode(errors="replace") for line in found)
    return ""


async def every_job(reader: port.Reader, namespace: str | None) -> tuple[list[view.View], list[bytes]]:
    """With their pods: how often containers were restarted is known by these alone."""
    listed, found = await asyncio.gather(names.names(reader, namespace), pods(reader, namespace, naming.JOB_NAME))
    by_job: dict[tuple[str, str], list[objects.Pod]] = {}
    for pod in found:
        by_job.setdefault((pod.metadata.namespace, pod.metadata.labels.get(naming.JOB_NAME, "")), []).append(pod)
    bare = [(kind, raw, view.view(kind, raw).job) for kind, raw in listed]
    views = [view.view(kind, raw, by_job.get((job.namespace, job.name), ())) for kind, raw, job in bare]
    return views, [raw for _, raw in listed]


def in_order(views: Iterable[view.View]) -> list[view.View]:
    """The newest last, as in a terminal the last is what one sees."""
    return sorted(views, key=lambda each: (each.job.metadata.creation_timestamp is None, each.job.metadata.creation_timestamp))

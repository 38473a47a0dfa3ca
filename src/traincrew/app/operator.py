"""The composition root: the only module that puts concrete parts together."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pathlib
from collections.abc import Callable, Coroutine
from typing import Any

from traincrew import errors, settings
from traincrew.app import signals
from traincrew.client import connection, kubeconfig, retries
from traincrew.client.remote import RemoteClient
from traincrew.embedded.data_directory import DataDirectory
from traincrew.kinds import KINDS
from traincrew.kinds.kind import JobKind
from traincrew.operator.metrics import Metrics
from traincrew.operator.run import Clients, Operator

OWN_NAMESPACE = pathlib.Path(kubeconfig.SERVICE_ACCOUNT, "namespace")


def connect(path: str | None, context: str | None = None) -> connection.Connection:
    """By the file that was named, else $KUBECONFIG, else as the pod we run in, else by the user's own kubeconfig."""
    if path or context or os.environ.get("KUBECONFIG"):
        return kubeconfig.load(path, context)
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return kubeconfig.in_cluster()
    return kubeconfig.load(None)


def chosen_kinds(names: tuple[str, ...]) -> tuple[JobKind, ...]:
    """The kinds of those names, in any case of letters; all if none is named."""
    known = {kind.singular: kind for kind in KINDS}
    unknown = [name for name in names if name.lower() not in known]
    if unknown:
        raise errors.SettingsError(f"unknown kind {unknown[0]!r}: choose among {', '.join(kind.kind for kind in KINDS)}")
    wanted = {name.lower() for name in names}
    return tuple(kind for kind in KINDS if not wanted or kind.singular in wanted)


def own_namespace() -> str:
    """Where the operator itself lives; outside of a pod that is `kubeflow`, as with the Go operator."""
    return OWN_NAMESPACE.read_text().strip() if OWN_NAMESPACE.exists() else "kubeflow"


def run_operator(options: settings.Operator, target: connection.Connection) -> None:
    """Until SIGTERM or SIGINT. Returns when everything in hand is finished."""
    kinds = chosen_kinds(options.kinds)
    _run(_operate(options, target, kinds))


def run_cluster(
    options: settings.Cluster,
    place: DataDirectory,
    ready: Callable[[str], None],
    stopping: Callable[[int, float | None], None] = lambda pods, grace: None,
) -> None:
    """The cluster of this machine with the operator in it, until SIGTERM or SIGINT. `ready` is told its URL; `stopping` how many
    pods run and the seconds that they get to end, if they are to."""
    # Imported here: whoever only runs the operator need not load an API server.
    from traincrew.app import cluster

    _run(cluster.serve(options, place, cluster.Voice(ready, stopping)))


def run_node(options: settings.Joined, target: connection.Connection, ready: Callable[[str], None]) -> None:
    """This machine as a node of a cluster, until SIGTERM or SIGINT. `ready` is told the node's name."""
    from traincrew.app import node

    _run(node.serve(options, target, ready))


def _run(work: Coroutine[Any, Any, None]) -> None:
    with _runner() as runner:
        runner.run(signals.until_done(work))
    signals.deafen()


def _runner() -> asyncio.Runner:
    try:
        import uvloop
    except ImportError:
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


async def _operate(options: settings.Operator, target: connection.Connection, kinds: tuple[JobKind, ...]) -> None:
    stop = asyncio.Event()
    signals.listen(stop.set, *signals.STOP)
    metrics = Metrics()
    async with contextlib.AsyncExitStack() as stack:

        async def client(component: str, limits: retries.Limits) -> RemoteClient:
            return await stack.enter_async_context(
                RemoteClient(target, component=component, limits=limits, on_request=metrics.request)
            )

        work = await client("operator", retries.Limits(in_flight=options.in_flight))
        lease = await client("leader election", retries.Limits()) if options.election.enabled else None
        await Operator(Clients(work, lease), kinds, options, metrics).run(stop)

"""The composition root of the operator, and the event loop of all three processes."""

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
    """By the given kubeconfig, else $KUBECONFIG, else the pod's service account, else the user's kubeconfig."""
    if path or context or os.environ.get("KUBECONFIG"):
        return kubeconfig.load(path, context)
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return kubeconfig.in_cluster()
    return kubeconfig.load(None)


def chosen_kinds(names: tuple[str, ...]) -> tuple[JobKind, ...]:
    """The kinds of these names, case-insensitive; all if none is named."""
    known = {kind.singular: kind for kind in KINDS}
    unknown = [name for name in names if name.lower() not in known]
    if unknown:
        raise errors.SettingsError(f"Unknown kind {unknown[0]!r}. Choose from {', '.join(kind.kind for kind in KINDS)}.")
    chosen = {name.lower() for name in names}
    return tuple(kind for kind in KINDS if not chosen or kind.singular in chosen)


def own_namespace() -> str:
    """The namespace of the operator's pod; outside of a pod `kubeflow`, as with the Go operator."""
    return OWN_NAMESPACE.read_text().strip() if OWN_NAMESPACE.exists() else "kubeflow"


def run_operator(options: settings.Operator, target: connection.Connection) -> None:
    """Runs until SIGTERM or SIGINT; returns when the current work is finished."""
    kinds = chosen_kinds(options.kinds)
    _run(_operate(options, target, kinds))


def run_cluster(
    options: settings.Cluster,
    directory: DataDirectory,
    ready: Callable[[str], None],
    stopping: Callable[[int, float | None], None] = lambda pods, grace: None,
) -> None:
    """Runs the cluster of this machine with the operator, until SIGTERM or SIGINT. `ready` is called with the URL, `stopping`
    with the number of running pods and their grace period, None if they run on."""
    # Imported here: the operator alone need not load an API server.
    from traincrew.app import cluster

    _run(cluster.serve(options, directory, cluster.Announcer(ready, stopping)))


def run_node(options: settings.Joined, target: connection.Connection, ready: Callable[[str], None]) -> None:
    """Runs this machine as a node of a cluster, until SIGTERM or SIGINT. `ready` is called with the node's name."""
    from traincrew.app import node

    _run(node.serve(options, target, ready))


def _run(work: Coroutine[Any, Any, None]) -> None:
    with _runner() as runner:
        runner.run(signals.until_done(work))
    signals.ignore()


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

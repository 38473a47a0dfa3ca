"""The composition root of the operator."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import pathlib

from traincrew import errors, settings
from traincrew.app import event_loop, own_image, signals
from traincrew.client import connection, kubeconfig, retries
from traincrew.client.remote import RemoteClient
from traincrew.kinds import KINDS, lookup
from traincrew.kinds.kind import JobKind
from traincrew.operator.metrics import Metrics
from traincrew.operator.run import Clients, Operator

OWN_NAMESPACE = pathlib.Path(kubeconfig.SERVICE_ACCOUNT, "namespace")


def chosen_kinds(names: tuple[str, ...]) -> tuple[JobKind, ...]:
    """The kinds of these names, case-insensitive; all if none is named."""
    chosen = {name: lookup.find(name) for name in names}
    for name, found in chosen.items():
        if found is None:
            raise errors.SettingsError(lookup.unknown_kind(name))
    return tuple(kind for kind in KINDS if not chosen or kind in chosen.values())


def own_namespace() -> str:
    """The namespace of the operator's pod; outside of a pod `kubeflow`, as with the Go operator."""
    return OWN_NAMESPACE.read_text().strip() if OWN_NAMESPACE.exists() else "kubeflow"


def run(options: settings.Operator, target: connection.ServerConnection) -> None:
    """Runs until SIGTERM or SIGINT; returns when the current work is finished."""
    event_loop.run(_operate(options, target, chosen_kinds(options.kinds)))


async def _operate(options: settings.Operator, target: connection.ServerConnection, kinds: tuple[JobKind, ...]) -> None:
    stop = asyncio.Event()
    signals.listen(stop.set, *signals.STOP)
    metrics = Metrics()
    async with contextlib.AsyncExitStack() as stack:

        async def client(component: str, limits: retries.RetryLimits) -> RemoteClient:
            return await stack.enter_async_context(
                RemoteClient(target, component=component, limits=limits, on_request=metrics.request)
            )

        work = await client("operator", retries.RetryLimits(in_flight=options.in_flight))
        lease = await client("leader election", retries.RetryLimits()) if options.election.enabled else None
        if not options.planning.init_image:
            image = await own_image.find(work, own_namespace(), stop)
            options = dataclasses.replace(options, planning=dataclasses.replace(options.planning, init_image=image))
        await Operator(Clients(work, lease, work.fetch), kinds, options, metrics).run(stop)

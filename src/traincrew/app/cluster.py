"""The composition of the one-machine cluster: the embedded API server, and the operator as one of its clients."""

from __future__ import annotations

import asyncio
import dataclasses
import faulthandler
import os
import signal
from collections.abc import Callable

from traincrew import __version__, settings
from traincrew.app import signals
from traincrew.client import clock
from traincrew.embedded import daemon
from traincrew.embedded.apiserver.authn import users
from traincrew.embedded.bootstrap import Furniture
from traincrew.embedded.data_directory import DataDirectory
from traincrew.embedded.kubelet.images import default_environment
from traincrew.embedded.kubelet.network import listening_ports
from traincrew.kinds import KINDS
from traincrew.operator.metrics import Metrics
from traincrew.operator.run import Clients, Operator
from traincrew.scheduling.decisions import single_machine_profile
from traincrew.validation import crds, rbac

LEAVE = signal.SIGUSR1
"""Ends the daemon alone: pods run on, and the next one adopts them."""
LONGEST_END = 30.0
"""Seconds from being told to stop until the process ends, beside those that pods get to end, and whatever hangs: all that was
acknowledged is on the disk already."""
OPERATOR = settings.Operator(metrics_address="0", health_address="0")
ON_THE_HOST = settings.Planning(host_ports=(20000, 29999), host_ports_for_all=True)
"""Where pods are in the host's network. Linux gives none of these to whoever asks for any port."""


@dataclasses.dataclass(frozen=True)
class Voice:
    """What is said to whoever has started the cluster."""

    ready: Callable[[str], None]
    """With its URL."""
    stopping: Callable[[int, float | None], None] = lambda pods, grace: None
    """How many pods run, and the seconds they get to end; None: they run on."""


def furniture(options: settings.Cluster) -> Furniture:
    objects = [document for document in rbac.documents() if document["kind"] != "Namespace"]
    return Furniture(options.namespaces, tuple(crds.crd(kind) for kind in KINDS), tuple(objects))


class Ending:
    """How the cluster was told to stop: with its pods, which get some time, or without them."""

    def __init__(self, place: DataDirectory, grace: float) -> None:
        self._place, self.grace = place, grace
        self.told = asyncio.Event()
        self.leaves_pods = False
        place.asked_grace()  # of a stop that never came

    def listen(self) -> None:
        signals.listen(self._end, *signals.STOP)
        signals.listen(self._leave, LEAVE)

    def _leave(self) -> None:
        self.leaves_pods = self.leaves_pods or not self.told.is_set()
        self._end()

    def _end(self) -> None:
        if self.told.is_set():
            return
        self.told.set()
        asked = self._place.asked_grace()
        self.grace = asked if asked is not None else self.grace
        # Not a timer of the loop, for the loop may be what hangs; and what does is told in the log.
        log = os.open(self._place.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        longest = LONGEST_END + (0.0 if self.leaves_pods else self.grace)
        faulthandler.dump_traceback_later(longest, exit=True, file=log)


async def serve(options: settings.Cluster, place: DataDirectory, voice: Voice) -> None:
    ending = Ending(place, options.node.shutdown_grace if options.node is not None else 0.0)
    ending.listen()
    chosen = daemon.Options(
        data=place.data,
        host=options.listen,
        port=options.port,
        furniture=furniture(options),
        log=place.log,
        version=__version__,
        audit_log=options.audit_log,
        controllers=options.controllers,
        placement=single_machine_profile(options.overcommit) if options.node is not None and options.controllers else None,
        node=options.node,
    )
    async with daemon.running(chosen) as cluster:
        started = clock.now().isoformat(timespec="seconds")
        node = options.node.name if options.node is not None else ""
        place.announce(
            cluster.url, started, node=node, overcommit=list(options.overcommit), environment=_environment(options.node)
        )
        try:
            voice.ready(cluster.url)
            await _with_operator(cluster, options, ending.told)
            if cluster.node is not None:
                voice.stopping(cluster.node.agent.busy, None if ending.leaves_pods else ending.grace)
                if not ending.leaves_pods:
                    await cluster.node.stop(ending.grace)
        finally:
            place.withdraw()


def _environment(node: settings.Node | None) -> str:
    """What pods run in whose image has no environment of its own; empty: none do."""
    return default_environment.from_process().source if node is not None and not node.strict_images else ""


async def _with_operator(cluster: daemon.Running, options: settings.Cluster, stop: asyncio.Event) -> None:
    if not options.operator:
        await stop.wait()
        return
    # As on a cluster, the operator has the rights of its service account and no more.
    user = users.service_account("kubeflow", rbac.NAME)
    client = cluster.daemon.client(user, "traincrew-operator")
    bare = cluster.node is not None and cluster.node.isolation == "none"
    chosen = dataclasses.replace(OPERATOR, planning=ON_THE_HOST) if bare else OPERATOR
    operator = Operator(Clients(client), KINDS, chosen, Metrics())
    operator.observer.ports.listening = listening_ports.ports
    await operator.run(stop)

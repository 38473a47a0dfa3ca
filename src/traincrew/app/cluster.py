"""The composition root of the cluster of one machine: the embedded cluster, and the operator as one of its clients."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import faulthandler
import os
import signal
from collections.abc import AsyncIterator, Callable

from traincrew import __version__, settings
from traincrew.apimachinery import times
from traincrew.app import event_loop, signals
from traincrew.client import clock
from traincrew.embedded import daemon
from traincrew.embedded.apiserver.authn import users
from traincrew.embedded.bootstrap import BootstrapObjects
from traincrew.embedded.control_plane import Options
from traincrew.embedded.data_directory import DataDirectory
from traincrew.embedded.kubelet.images import default_environment
from traincrew.embedded.kubelet.kubelet import Kubelet
from traincrew.embedded.kubelet.network import listening_ports
from traincrew.history import recorder
from traincrew.kinds import KINDS
from traincrew.operator.metrics import Metrics
from traincrew.operator.run import Clients, Operator
from traincrew.scheduling.decisions import single_machine_profile
from traincrew.validation import crds, rbac_manifests

LEAVE_PODS = signal.SIGUSR1
"""Stops the process alone: pods keep running, and the next process adopts them."""
SHUTDOWN_TIMEOUT = 30.0
"""Seconds from the stop signal until the process is killed, in addition to the grace period of pods. All acknowledged writes
are on disk by then."""
PLANNING = settings.Planning(init_image=f"traincrew:{__version__}")
"""The kubelet of this machine has the programs of the operator's image: nothing is pulled."""
OPERATOR = settings.Operator(metrics_address="0", health_address="0", planning=PLANNING)
HOST_NETWORK_PLANNING = dataclasses.replace(PLANNING, host_ports=(20000, 29999), host_ports_for_all=True)
"""For pods in the host's network. Linux does not use these ports as ephemeral ports."""


@dataclasses.dataclass(frozen=True)
class StatusCallbacks:
    """Messages to the user who has started the cluster."""

    ready: Callable[[str], None]
    """Called with the URL."""
    stopping: Callable[[int, float | None], None] = lambda pods, grace: None
    """Called with the number of running pods and their grace period in seconds; None: they run on."""


def bootstrap_objects(options: settings.Cluster) -> BootstrapObjects:
    recording = rbac_manifests.recorder_documents() if options.history is not None else []
    manifests = (*rbac_manifests.documents(), *rbac_manifests.sharing_documents(), *recording)
    objects = [document for document in manifests if document["kind"] != "Namespace"]
    namespaces = options.namespaces or tuple(dict.fromkeys(each.namespace for kind in KINDS for each in kind.other_operators))
    return BootstrapObjects(namespaces, tuple(crds.crd(kind) for kind in KINDS), tuple(objects))


class Shutdown:
    """The stop signal: with or without the pods, and their grace period."""

    def __init__(self, directory: DataDirectory, grace_period: float) -> None:
        self._directory, self.grace_period = directory, grace_period
        self.requested = asyncio.Event()
        self.leaves_pods = False
        directory.take_requested_grace_period()  # left by an interrupted stop

    def listen(self) -> None:
        signals.listen(self._stop, *signals.STOP)
        signals.listen(self._leave_pods, LEAVE_PODS)

    def _leave_pods(self) -> None:
        self.leaves_pods = self.leaves_pods or not self.requested.is_set()
        self._stop()

    def _stop(self) -> None:
        if self.requested.is_set():
            return
        self.requested.set()
        requested = self._directory.take_requested_grace_period()
        self.grace_period = requested if requested is not None else self.grace_period
        # Not a timer of the event loop, for the loop may be blocked. The log then shows where.
        log = os.open(self._directory.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        timeout = SHUTDOWN_TIMEOUT + (0.0 if self.leaves_pods else self.grace_period)
        faulthandler.dump_traceback_later(timeout, exit=True, file=log)


def run(options: settings.Cluster, directory: DataDirectory, callbacks: StatusCallbacks) -> None:
    """Runs the cluster of this machine with the operator, until SIGTERM, SIGINT or SIGUSR1."""
    event_loop.run(_serve(options, directory, callbacks))


async def _serve(options: settings.Cluster, directory: DataDirectory, callbacks: StatusCallbacks) -> None:
    shutdown = Shutdown(directory, options.node.shutdown_grace if options.node is not None else 0.0)
    shutdown.listen()
    async with daemon.run(_daemon_options(options, directory)) as cluster:
        directory.announce(
            cluster.url,
            times.rfc3339(clock.now()),
            node=options.node.name if options.node is not None else "",
            overcommit=list(options.overcommit),
            isolation=cluster.kubelet.setup.isolation if cluster.kubelet is not None else "",
            environment=_default_environment(options.node),
            unenforced=_unenforced_limits(cluster.kubelet),
            no_egress=_no_egress(cluster.kubelet),
        )
        try:
            callbacks.ready(cluster.url)
            async with _recorder(cluster, options, directory):
                await _run_operator(cluster, options, shutdown.requested)
                if cluster.kubelet is not None:
                    callbacks.stopping(cluster.kubelet.sync_loop.busy, None if shutdown.leaves_pods else shutdown.grace_period)
                    if not shutdown.leaves_pods:
                        await cluster.kubelet.stop(shutdown.grace_period)
        finally:
            directory.withdraw()


def _daemon_options(options: settings.Cluster, directory: DataDirectory) -> Options:
    return Options(
        data=directory.data,
        host=options.listen,
        port=options.port,
        preferred_port=directory.last_port(),
        bootstrap=bootstrap_objects(options),
        log=directory.log,
        version=__version__,
        audit_log=options.audit_log,
        controllers=options.controllers,
        scheduling=single_machine_profile(options.overcommit) if options.node is not None and options.controllers else None,
        node=options.node,
    )


def _unenforced_limits(kubelet: Kubelet | None) -> dict[str, object]:
    """Empty: all limits of pods are enforced, or there are no pods."""
    if kubelet is None or not kubelet.setup.cgroups.missing:
        return {}
    return {"resources": list(kubelet.setup.cgroups.missing), "why": kubelet.setup.cgroups.warning}


def _no_egress(kubelet: Kubelet | None) -> str:
    """Why pods cannot reach external networks, with the remedy. Empty: they can, or there are no pods."""
    return kubelet.setup.netns.egress if kubelet is not None and kubelet.setup.netns is not None else ""


def _default_environment(node: settings.Node | None) -> str:
    """The environment of containers whose image has no environment. Empty: such containers are rejected."""
    return default_environment.from_process().source if node is not None and not node.strict_images else ""


@contextlib.asynccontextmanager
async def _recorder(cluster: daemon.RunningCluster, options: settings.Cluster, directory: DataDirectory) -> AsyncIterator[None]:
    """In this process: another one would need more memory than the recorder itself. It has the rights of its service account."""
    if options.history is None:
        yield
        return
    user = users.service_account(rbac_manifests.NAMESPACE, rbac_manifests.RECORDER)
    client = cluster.control_plane.client(user, rbac_manifests.RECORDER)
    async with recorder.recording(client, str(directory.history), options.history):
        yield


async def _run_operator(cluster: daemon.RunningCluster, options: settings.Cluster, stop: asyncio.Event) -> None:
    if not options.operator:
        await stop.wait()
        return
    # As on any cluster, the operator has the rights of its service account and no others.
    user = users.service_account("kubeflow", rbac_manifests.NAME)
    client = cluster.control_plane.client(user, "traincrew-operator")
    in_host_network = cluster.kubelet is not None and cluster.kubelet.setup.isolation == "none"
    chosen = dataclasses.replace(OPERATOR, planning=HOST_NETWORK_PLANNING) if in_host_network else OPERATOR
    chosen = dataclasses.replace(chosen, overcommitted=options.overcommit, sharing=options.sharing)
    operator = Operator(Clients(client), KINDS, chosen, Metrics())
    operator.observer.ports.listening = listening_ports.ports
    await operator.run(stop)

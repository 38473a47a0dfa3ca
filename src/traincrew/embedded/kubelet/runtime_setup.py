"""Prepares what pods run on: the isolation level, the pod network and the template process of the shims.

A module of its own: the preparation runs while the rest of the kubelet is still being imported.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import pathlib
from collections.abc import Mapping

from traincrew import errors, settings
from traincrew.embedded import private_files
from traincrew.embedded.file_trees import removal
from traincrew.embedded.kubelet.network.addresses import DEFAULT_SUBNET
from traincrew.embedded.kubelet.network.netns_client import NetnsClient
from traincrew.embedded.kubelet.runtime import isolation, spec
from traincrew.embedded.kubelet.runtime.cgroups import hierarchies
from traincrew.embedded.kubelet.runtime.client.template_client import TemplateClient
from traincrew.embedded.kubelet.runtime.shim import exec_socket, lock
from traincrew.embedded.kubelet.runtime.spec import Isolation

log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class DataLayout:
    """The directories of the kubelet in the data directory."""

    data: pathlib.Path

    @property
    def node(self) -> pathlib.Path:
        return self.data / "node"

    @property
    def pods(self) -> pathlib.Path:
        """The state directories of the pods."""
        return self.node / "pods"

    @property
    def unremoved(self) -> pathlib.Path:
        """The state directories of deleted pods that could not be removed."""
        return self.node / "unremoved"

    @property
    def exec_sockets(self) -> pathlib.Path:
        return pathlib.Path(exec_socket.directory(str(self.node)))

    @property
    def names_file(self) -> pathlib.Path:
        """The names of the cluster, for pods without a DNS server."""
        return self.node / "names"

    @property
    def logs(self) -> pathlib.Path:
        return self.data / "logs"

    def create(self) -> None:
        self._remove_former_exec_sockets()
        for directory in (self.node, self.pods, self.exec_sockets, self.logs):
            private_files.ensure_directory(directory)
        # Pods of other users connect to the sockets. A ticket protects each of them.
        self.exec_sockets.chmod(0o711)

    def _remove_former_exec_sockets(self) -> None:
        """Not while a shim runs: those of earlier releases mount the directory by its former name."""
        former = self.node / spec.FORMER_EXEC_SOCKETS
        if former.is_dir() and not self.has_shims():
            try:
                removal.remove_tree(former)
            except OSError as error:  # clean-up never stops a start
                log.warning("cannot remove the former directory of exec sockets", extra={"error": str(error)})

    def has_shims(self) -> bool:
        return any(_has_shim(path) for path in self.pods.glob("*"))


@dataclasses.dataclass(frozen=True)
class RuntimeSetup:
    """Exists before the first pod and outlives the kubelet."""

    isolation: Isolation
    netns: NetnsClient | None
    """None: pods share the network of the host."""
    template: TemplateClient
    unavailable: Mapping[Isolation, str]
    """Why stronger levels of isolation are not used."""
    cgroups: hierarchies.Hierarchies
    """Where the limits of pods are set, and which are not enforced."""


async def prepare(options: settings.Node, data: pathlib.Path) -> RuntimeSetup:
    """Raises SettingsError or OSError."""
    layout = DataLayout(data)
    layout.create()
    level, unavailable = await asyncio.to_thread(_isolation_level, options.isolation, str(layout.node))
    hierarchies.move_daemon_to_leaf()
    netns, template = await _start(data, level, options.subnet or DEFAULT_SUBNET)
    return RuntimeSetup(level, netns, template, unavailable, await asyncio.to_thread(hierarchies.discover))


async def _start(data: pathlib.Path, level: Isolation, subnet: str) -> tuple[NetnsClient | None, TemplateClient]:
    if level is Isolation.NONE:
        return None, await TemplateClient.start(data, level)
    starting = asyncio.create_task(NetnsClient.ensure(data, level, subnet))
    template: TemplateClient | None = None
    try:
        # At level USER the template joins the user namespace of the netns daemon. At level ROOT both start concurrently.
        userns = (await starting).pid if level is Isolation.USER else None
        template = await TemplateClient.start(data, level, userns)
        return await starting, template
    except BaseException:
        if template is not None:
            await template.close()
        with contextlib.suppress(Exception):
            await _stop_unused(await starting, data)
        raise


async def tear_down(setup: RuntimeSetup, data: pathlib.Path) -> None:
    """After a failed start of the kubelet."""
    await setup.template.close()
    await _stop_unused(setup.netns, data)


async def _stop_unused(netns: NetnsClient | None, data: pathlib.Path) -> None:
    """Stops the netns daemon, unless it serves pods of a previous kubelet. Directories alone may be left of pods that ended."""
    if netns is None:
        return
    if DataLayout(data).has_shims():
        await netns.close()
    else:
        await netns.stop()


def _has_shim(directory: pathlib.Path) -> bool:
    try:
        return lock.is_held(str(directory))
    except OSError:  # not a directory, or not of this user
        return False


def _isolation_level(requested: str, directory: str) -> tuple[Isolation, dict[Isolation, str]]:
    if not requested:
        probed = isolation.probe(directory)
        return probed.isolation, probed.unavailable
    if reason := isolation.check(Isolation(requested), directory):
        raise errors.SettingsError(f'Isolation level "{requested}" is not available: {reason}')
    stronger = list(Isolation)[: list(Isolation).index(Isolation(requested))]
    return Isolation(requested), dict.fromkeys(stronger, f"--isolation {requested} was given")

"""Sets up what pods need before the kubelet starts: isolation level, netns daemon and template process.

A module of its own: the setup runs while the kubelet is still being imported.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import pathlib

from traincrew import errors, settings
from traincrew.embedded import private_files
from traincrew.embedded.kubelet.network.addresses import DEFAULT_SUBNET
from traincrew.embedded.kubelet.network.netns_client import NetnsClient
from traincrew.embedded.kubelet.runtime import isolation
from traincrew.embedded.kubelet.runtime.cgroups import hierarchies
from traincrew.embedded.kubelet.runtime.client.template_client import TemplateClient
from traincrew.embedded.kubelet.runtime.spec import Isolation


@dataclasses.dataclass(frozen=True)
class RuntimeSetup:
    """The result. Netns daemon and shims outlive the kubelet."""

    isolation: Isolation
    netns: NetnsClient | None
    template: TemplateClient
    unavailable: dict[Isolation, str]
    """Why each better isolation level is not available."""


async def prepare(options: settings.Node, data: pathlib.Path) -> RuntimeSetup:
    for name in ("node", "node/pods", "node/doors", "logs"):
        private_files.ensure_directory(data / name)
    (data / "node" / "doors").chmod(0o711)  # containers of any user connect to the exec sockets, which require a ticket
    level, unavailable = await asyncio.to_thread(_level, options.isolation, str(data / "node"))
    hierarchies.move_daemon_to_leaf()
    netns, template = await _start(data, level, options.subnet or DEFAULT_SUBNET)
    return RuntimeSetup(level, netns, template, unavailable)


async def _start(data: pathlib.Path, level: Isolation, subnet: str) -> tuple[NetnsClient | None, TemplateClient]:
    if level is Isolation.NONE:
        return None, await TemplateClient.start(data, level)
    starting = asyncio.create_task(NetnsClient.ensure(data, level, subnet))
    template: TemplateClient | None = None
    try:
        # At level USER pods live in the user namespace of the netns daemon, so the template needs it first.
        userns = (await starting).pid if level is Isolation.USER else None
        template = await TemplateClient.start(data, level, userns)
        return await starting, template
    except BaseException:
        if template is not None:
            await template.close()
        with contextlib.suppress(Exception):
            await _release_network(await starting, data)
        raise


async def tear_down(setup: RuntimeSetup, data: pathlib.Path) -> None:
    """After a failed start: stops the processes in order, so that none logs a lost connection."""
    await setup.template.close()
    await _release_network(setup.netns, data)


async def _release_network(netns: NetnsClient | None, data: pathlib.Path) -> None:
    """Leaves the netns daemon running if pods of an earlier daemon may use its network."""
    if netns is None:
        return
    if any((data / "node" / "pods").iterdir()):
        await netns.close()
    else:
        await netns.stop()


def _level(wanted: str, directory: str) -> tuple[Isolation, dict[Isolation, str]]:
    if not wanted:
        found = isolation.probe(directory)
        return found.isolation, found.unavailable
    if reason := isolation.check(Isolation(wanted), directory):
        raise errors.SettingsError(f'Isolation level "{wanted}" is not available: {reason}')
    better = list(Isolation)[: list(Isolation).index(Isolation(wanted))]
    return Isolation(wanted), dict.fromkeys(better, f"--isolation {wanted} was given")

"""What pods stand on: the level of isolation, their network, and the process that they come from.

Apart from the agent, for it is made while that is still imported.
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
    """What pods stand on: made before there is any, and there when the agent is gone."""

    isolation: Isolation
    holder: NetnsClient | None
    template: TemplateClient
    refusals: dict[Isolation, str]
    """Why better levels of isolation cannot be had."""


async def prepare(options: settings.Node, data: pathlib.Path) -> RuntimeSetup:
    for name in ("node", "node/pods", "node/doors", "logs"):
        private_files.ensure_directory(data / name)
    (data / "node" / "doors").chmod(0o711)  # pods of other users knock there, too; who has no secret is not let in
    level, refusals = await asyncio.to_thread(_level, options.isolation, str(data / "node"))
    hierarchies.move_daemon_to_leaf()
    holder, template = await _begun(data, level, options.subnet or DEFAULT_SUBNET)
    return RuntimeSetup(level, holder, template, refusals)


async def _begun(data: pathlib.Path, level: Isolation, subnet: str) -> tuple[NetnsClient | None, TemplateClient]:
    if level is Isolation.NONE:
        return None, await TemplateClient.start(data, level)
    holding = asyncio.create_task(NetnsClient.ensure(data, level, subnet))
    template: TemplateClient | None = None
    try:
        # Pods live in the user namespace that the holder has made; where there is none, neither need wait for the other.
        userns = (await holding).pid if level is Isolation.USER else None
        template = await TemplateClient.start(data, level, userns)
        return await holding, template
    except BaseException:
        if template is not None:
            await template.close()
        with contextlib.suppress(Exception):
            await _give_up(await holding, data)
        raise


async def tear_down(ground: RuntimeSetup, data: pathlib.Path) -> None:
    """Of a start that failed. What was begun is ended in order, so that it does not complain of being left alone."""
    await ground.template.close()
    await _give_up(ground.holder, data)


async def _give_up(holder: NetnsClient | None, data: pathlib.Path) -> None:
    """A network that pods of an earlier daemon may be in stays; any other is of no use to anybody."""
    if holder is None:
        return
    if any((data / "node" / "pods").iterdir()):
        await holder.close()
    else:
        await holder.stop()


def _level(wanted: str, directory: str) -> tuple[Isolation, dict[Isolation, str]]:
    if not wanted:
        found = isolation.probe(directory)
        return found.isolation, found.refusals
    if refusal := isolation.check(Isolation(wanted), directory):
        raise errors.SettingsError(f"--isolation {wanted} cannot be had here: {refusal}")
    better = list(Isolation)[: list(Isolation).index(Isolation(wanted))]
    return Isolation(wanted), dict.fromkeys(better, f"--isolation {wanted} was asked for")

"""Stops the pods and the network of a cluster whose daemon is gone, as the daemon does when it shuts down."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import pathlib
import signal

from traincrew.embedded.file_trees import removal
from traincrew.embedded.kubelet import volumes
from traincrew.embedded.kubelet.network import netns_client, netns_discovery
from traincrew.embedded.kubelet.pods import state_directory
from traincrew.embedded.kubelet.pods.state_directory import PodStateDirectory
from traincrew.embedded.kubelet.pods.sync_loop import SHUTDOWN
from traincrew.embedded.kubelet.runtime import runtime
from traincrew.embedded.kubelet.runtime.shim import lock
from traincrew.embedded.kubelet.runtime_setup import DataLayout

ANSWER_SECONDS = 5.0
STOP_SECONDS = 10.0


@dataclasses.dataclass(frozen=True)
class StoppedPods:
    pods: int
    """Pods that were running."""
    network: bool
    """Whether the pod network was running."""
    problems: list[str]
    """What is left, and why."""


async def stop(data: pathlib.Path, grace: float) -> StoppedPods:
    """The next daemon reports the pods as terminated by a node shutdown."""
    layout = DataLayout(data)
    directories = state_directory.list_all(layout.pods)
    running = [each for each in directories if lock.is_held(str(each.path))]
    results = await asyncio.gather(*(_stop(each, grace) for each in directories), return_exceptions=True)
    network = netns_discovery.has_files(layout.node)
    if network:
        await netns_client.stop(data)
    return StoppedPods(len(running), network, [str(each) for each in results if isinstance(each, BaseException)])


async def _stop(directory: PodStateDirectory, grace: float) -> None:
    if directory.sandbox() is not None and not directory.sandbox_stopped():
        directory.write_eviction(dataclasses.replace(SHUTDOWN, grace=0.0))
        directory.mark_sandbox_stopped()
    with contextlib.suppress(runtime.ContainerRuntimeError):
        shim = await runtime.ShimClient.connect(directory.path, ANSWER_SECONDS)
        try:
            await _terminate(shim, grace)
            await shim.stop(STOP_SECONDS)
        finally:
            shim.close()
    await asyncio.to_thread(runtime.end_pod_processes, directory.path)
    await volumes.release_memory(volumes.VolumeHost(directory.path), _remove)


async def _terminate(shim: runtime.ShimClient, grace: float) -> None:
    """Sends SIGTERM to the containers and waits for their end."""
    running = {name for name, status in (await shim.container_statuses()).items() if status.running}
    for name in running:
        await shim.signal(name, signal.SIGTERM)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(grace):
            while running:
                running -= {name for name, status in (await shim.container_statuses()).items() if not status.running}
                await asyncio.sleep(0.05)


async def _remove(path: pathlib.Path) -> None:
    await asyncio.to_thread(removal.remove_tree, path)

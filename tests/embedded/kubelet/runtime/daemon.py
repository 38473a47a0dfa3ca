"""A daemon to be killed: creates a pod, starts a container that counts, and runs commands in a loop.

python daemon.py DATA ISOLATION POD-DIRECTORY
"""

from __future__ import annotations

import asyncio
import contextlib
import pathlib
import sys

from tests.embedded.kubelet.runtime.shim_harness import ShimHarness

from traincrew.embedded.kubelet.runtime import runtime, spec
from traincrew.embedded.kubelet.runtime.streaming import ContainerNotFound, ExecOptions

COUNT = 20_000
COUNTING = f"i=0; while [ $i -lt {COUNT} ]; do echo $i; i=$((i+1)); done; exit 42"


def pod(directory: pathlib.Path) -> spec.PodSandboxConfig:
    return spec.PodSandboxConfig(directory.name, "default", "pod-1", "pod-1", str(directory))


def container(harness: ShimHarness) -> spec.ContainerConfig:
    return harness.shell(COUNTING, log_bytes=200_000, log_files=100)


async def main(data: pathlib.Path, isolation: str, directory: pathlib.Path) -> None:
    harness = await ShimHarness(data, spec.Isolation(isolation)).open()
    (directory / "template.pid").write_text(str(harness.template.pid))
    print("template", flush=True)
    shim = await harness.template.fork(pod(directory))
    print("shim", flush=True)
    await shim.start(container(harness))
    print("started", flush=True)
    # On a busy machine the container may have counted to its end before the first command is sent.
    with contextlib.suppress(ContainerNotFound):
        await run_commands(shim)
    print("exec", flush=True)
    await asyncio.Event().wait()


async def run_commands(shim: runtime.ShimClient) -> None:
    while True:
        with contextlib.suppress(runtime.ExecFailed):
            session = await shim.exec("main", ["sh", "-c", "echo word; sleep 100"], ExecOptions(stdout=True))
            assert session.stdout is not None
            await session.stdout.read(100)
            print("exec", flush=True)
            session.close()


if __name__ == "__main__":
    asyncio.run(main(pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])))

"""The actions of probes and lifecycle hooks. Their messages are those of the kubelet."""

from __future__ import annotations

import asyncio
from typing import NamedTuple, Protocol

from traincrew.embedded.kubelet.pods import probe_messages
from traincrew.embedded.kubelet.pods.pod_network import PodNetwork
from traincrew.embedded.kubelet.runtime import runtime
from traincrew.embedded.kubelet.runtime.streaming import ByteReader, ExecOptions

OUTPUT_LIMIT = 10 << 10
"""Bytes of the output of a command that are kept."""


class ProbeResult(NamedTuple):
    success: bool | None
    """None: the probe could not be executed. It does not count as a failure."""
    message: str
    warning: str = ""
    """Of a success."""


class ProbeAction(Protocol):
    async def run(self) -> ProbeResult: ...

    def timeout_message(self, seconds: float) -> str: ...


class ExecAction(NamedTuple):
    shim: runtime.ShimClient
    container: str
    command: tuple[str, ...]

    async def run(self) -> ProbeResult:
        """Raises StreamError if the command cannot be started."""
        session = await self.shim.exec(self.container, self.command, ExecOptions(stdout=True, stderr=True))
        try:
            output = await asyncio.gather(_read_output(session.stdout), _read_output(session.stderr))
            code = await session.wait()
        finally:
            session.close()
        return ProbeResult(code == 0, b"".join(output)[:OUTPUT_LIMIT].decode(errors="replace"))

    def timeout_message(self, seconds: float) -> str:
        return probe_messages.exec_timeout(self.command, seconds)


class SleepAction(NamedTuple):
    seconds: float

    async def run(self) -> ProbeResult:
        await asyncio.sleep(self.seconds)
        return ProbeResult(True, "")

    def timeout_message(self, seconds: float) -> str:
        return f"sleep timed out after {seconds:g}s"


class TcpAction(NamedTuple):
    network: PodNetwork
    host: str
    port: int

    async def run(self) -> ProbeResult:
        try:
            _, writer = await self.network.connect(self.host, self.port)
        except OSError as error:
            return ProbeResult(False, probe_messages.dial_error(self.host, self.port, error))
        writer.close()
        return ProbeResult(True, "")

    def timeout_message(self, seconds: float) -> str:
        return probe_messages.dial_error(self.host, self.port, TimeoutError())


async def _read_output(reader: ByteReader | None) -> bytes:
    kept = b""
    while reader is not None and (piece := await reader.read(OUTPUT_LIMIT)):
        kept = (kept + piece)[:OUTPUT_LIMIT]
    return kept

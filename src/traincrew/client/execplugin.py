"""Exec credential plugins (client.authentication.k8s.io): a program prints a token or a client certificate.

The plugin inherits standard error, as with kubectl. Its output is a secret and is never quoted.
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime as dt
import math
import os
import sys
from collections.abc import Mapping

import msgspec

from traincrew import errors
from traincrew.client import clock

API_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
TIMEOUT_SECONDS = 60.0
"""Seconds that a non-interactive plugin may take."""
SHORTEST_LIFE = 5.0
"""Seconds for which even an expired credential is used: with a wrong clock the plugin must not run for every request."""
EXPIRY_MARGIN = 10.0


class _Status(msgspec.Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: dt.datetime | None = None


class _ExecCredential(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    status: _Status


@dataclasses.dataclass(frozen=True)
class PluginCredential:
    token: str = dataclasses.field(repr=False)
    certificate: bytes = dataclasses.field(repr=False)
    key: bytes = dataclasses.field(repr=False)
    fresh_for: float


@dataclasses.dataclass(frozen=True)
class ExecPlugin:
    label: str
    """The source of the plugin, for messages: "the exec plugin of user 'u' in F"."""
    command: str
    args: tuple[str, ...] = dataclasses.field(default=(), repr=False)
    env: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)
    api_version: str = API_VERSIONS[0]
    interactive_mode: str = "IfAvailable"
    install_hint: str = ""
    cluster: Mapping[str, object] | None = dataclasses.field(default=None, repr=False)

    async def run(self) -> PluginCredential:
        interactive = self._is_interactive()
        try:
            process = await asyncio.create_subprocess_exec(
                self.command,
                *self.args,
                env={**os.environ, **self.env, "KUBERNETES_EXEC_INFO": self._exec_info(interactive)},
                stdin=None if interactive else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            hint = f"\n{self.install_hint.strip()}" if self.install_hint else ""
            raise self._error(f"cannot run {self.command!r}: {error.strerror}{hint}") from error
        output = await self._output(process, None if interactive else TIMEOUT_SECONDS)
        if process.returncode:
            raise self._error(f"{self.command!r} failed with exit code {process.returncode}; see its messages on standard error")
        return self._parse(output)

    def _is_interactive(self) -> bool:
        terminal = self.interactive_mode != "Never" and sys.stdin is not None and sys.stdin.isatty()
        if self.interactive_mode == "Always" and not terminal:
            raise self._error(f"{self.command!r} requires a terminal on standard input (interactiveMode Always)")
        return terminal

    def _exec_info(self, interactive: bool) -> str:
        spec: dict[str, object] = {"interactive": interactive}
        if self.cluster is not None:
            spec["cluster"] = self.cluster
        info = {"apiVersion": self.api_version, "kind": "ExecCredential", "spec": spec}
        return msgspec.json.encode(info).decode()

    async def _output(self, process: asyncio.subprocess.Process, seconds: float | None) -> bytes:
        try:
            async with asyncio.timeout(seconds):
                output, _ = await process.communicate()
        except TimeoutError as error:
            raise self._error(f"{self.command!r} timed out after {TIMEOUT_SECONDS:.0f} s") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return output

    def _parse(self, output: bytes) -> PluginCredential:
        try:
            credential = msgspec.json.decode(output, type=_ExecCredential)
        except (msgspec.DecodeError, UnicodeDecodeError):
            # The cause is dropped: it may quote the output.
            raise self._error(f"{self.command!r} did not print an ExecCredential in JSON") from None
        status = credential.status
        if credential.kind != "ExecCredential" or credential.api_version != self.api_version:
            raise self._error(f"{self.command!r} must print an ExecCredential of {self.api_version}")
        if bool(status.client_certificate_data) != bool(status.client_key_data):
            raise self._error(f"{self.command!r} printed a client certificate or a key, but not both")
        if not status.token and not status.client_key_data:
            raise self._error(f"{self.command!r} printed neither a token nor a client certificate")
        if not status.token.isascii() or not status.token.isprintable():
            raise self._error(f"{self.command!r} printed a token that is not one line of printable ASCII")
        return PluginCredential(
            token=status.token,
            certificate=status.client_certificate_data.encode(),
            key=status.client_key_data.encode(),
            fresh_for=_lifetime(status.expiration_timestamp),
        )

    def _error(self, message: str) -> errors.KubeconfigError:
        return errors.KubeconfigError(f"{self.label}: {message}")


def _lifetime(expires: dt.datetime | None) -> float:
    if expires is None:
        return math.inf
    moment = expires if expires.tzinfo else expires.replace(tzinfo=dt.UTC)
    return max(SHORTEST_LIFE, (moment - clock.now()).total_seconds() - EXPIRY_MARGIN)

"""Credentials for an API server: files that rotate, tokens that expire, exec plugins.

Secrets are never shown: fields that may contain a secret are omitted from `repr`, and errors name the file but not
its content.
"""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import math
import pathlib
from typing import Protocol

from traincrew import errors
from traincrew.client import execplugin

FILE_LIFE = 60.0
"""Seconds for which the content of a file is cached; a kubelet replaces a token long before it expires."""


@dataclasses.dataclass(frozen=True)
class Material:
    """A part of a credential: bytes, or a file, which is read each time."""

    label: str
    data: bytes = dataclasses.field(default=b"", repr=False)
    path: str = ""

    def read(self) -> bytes:
        if not self.path:
            return self.data
        try:
            return pathlib.Path(self.path).read_bytes()
        except OSError as error:
            raise errors.KubeconfigError(f"{self.label}: cannot read {self.path!r}: {error.strerror}") from error


@dataclasses.dataclass(frozen=True)
class Access:
    """The secrets and rotating credentials of a request. They are valid for `fresh_for` seconds."""

    authorization: str = dataclasses.field(default="", repr=False)
    authority: bytes = dataclasses.field(default=b"", repr=False)
    certificate: bytes = dataclasses.field(default=b"", repr=False)
    key: bytes = dataclasses.field(default=b"", repr=False)
    fresh_for: float = dataclasses.field(default=math.inf, compare=False)


class Credentials(Protocol):
    async def read(self) -> Access:
        """Reads the files and runs the plugins again. Raises KubeconfigError on failure."""
        ...


@dataclasses.dataclass(frozen=True)
class ClientIdentity:
    """The credentials of a kubeconfig's user or of a pod's service account.

    The token and the certificate of the kubeconfig override those of the plugin, as in client-go.
    """

    authority: Material | None = None
    certificate: Material | None = None
    key: Material | None = None
    token: Material | None = None
    basic: str = dataclasses.field(default="", repr=False)
    plugin: execplugin.ExecPlugin | None = None

    async def read(self) -> Access:
        access = await asyncio.to_thread(self._read_files)
        if self.plugin is None or access.authorization:
            return access
        credential = await self.plugin.run()
        has_certificate = self.certificate is not None
        return dataclasses.replace(
            access,
            authorization=f"Bearer {credential.token}" if credential.token else "",
            certificate=access.certificate if has_certificate else credential.certificate,
            key=access.key if has_certificate else credential.key,
            fresh_for=min(access.fresh_for, credential.fresh_for),
        )

    def _read_files(self) -> Access:
        parts = (self.authority, self.certificate, self.key, self.token)
        authority, certificate, key, token = (part.read() if part else b"" for part in parts)
        rotates = any(part is not None and part.path for part in parts)
        return Access(
            authorization=self._authorization(token),
            authority=authority,
            certificate=certificate,
            key=key,
            fresh_for=FILE_LIFE if rotates else math.inf,
        )

    def _authorization(self, token: bytes) -> str:
        if self.token is not None:
            return f"Bearer {_header_text(token, self.token.label)}"
        return f"Basic {base64.b64encode(self.basic.encode()).decode()}" if self.basic else ""


def authority(found: Credentials) -> Material | None:
    """The certificate authority that belongs to credentials. None: those of the system."""
    return found.authority if isinstance(found, ClientIdentity) else None


def _header_text(token: bytes, label: str) -> str:
    text = token.decode("ascii", "replace").strip()
    if not text or not text.isascii() or not text.isprintable():
        raise errors.KubeconfigError(f"{label}: the token must be one non-empty line of printable ASCII")
    return text

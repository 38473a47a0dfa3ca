"""The certificate of a server. It is read again when its files change, such as when cert-manager renews it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import ssl
from collections.abc import AsyncIterator
from typing import NamedTuple

from traincrew import errors

log = logging.getLogger(__name__)


class ServingCertificate(NamedTuple):
    certificate: str
    key: str
    look_seconds: float = 30.0
    """Between two looks at the files."""

    @classmethod
    def in_directory(cls, directory: str) -> ServingCertificate:
        """`tls.crt` and `tls.key`, as a Secret of type kubernetes.io/tls is mounted."""
        return cls(os.path.join(directory, "tls.crt"), os.path.join(directory, "tls.key"))

    @contextlib.asynccontextmanager
    async def loaded(self) -> AsyncIterator[ssl.SSLContext]:
        """Raise SettingsError if the files cannot be used."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        before = self._state()
        try:
            context.load_cert_chain(self.certificate, self.key, password="")
        except (OSError, ssl.SSLError) as error:
            message = f"cannot use {self.certificate} and {self.key}: {error.strerror or error}"
            raise errors.SettingsError(message) from error
        task = asyncio.create_task(self._reload(context, before))
        try:
            yield context
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _state(self) -> list[tuple[int, int, int]]:
        with contextlib.suppress(OSError):
            found = [os.stat(each) for each in (self.certificate, self.key)]
            return [(each.st_ino, each.st_mtime_ns, each.st_size) for each in found]
        return []

    async def _reload(self, context: ssl.SSLContext, before: list[tuple[int, int, int]]) -> None:
        while True:
            await asyncio.sleep(self.look_seconds)
            now = self._state()
            if now == before:
                continue
            try:
                context.load_cert_chain(self.certificate, self.key, password="")
            except (OSError, ssl.SSLError) as error:
                log.warning("cannot read the certificate again", extra={"error": str(error)})  # perhaps half written
            else:
                log.info("read the certificate again")
                before = now

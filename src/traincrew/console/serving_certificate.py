"""The certificate of the console. It is read again when its files change, such as when cert-manager renews it."""

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

LOOK_SECONDS = 30.0


class ServingCertificate(NamedTuple):
    certificate: str
    key: str

    @contextlib.asynccontextmanager
    async def loaded(self, look_seconds: float = LOOK_SECONDS) -> AsyncIterator[ssl.SSLContext]:
        """Raise SettingsError if the files cannot be used."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        before = self._state()
        try:
            context.load_cert_chain(self.certificate, self.key, password="")
        except (OSError, ssl.SSLError) as error:
            message = f"cannot use {self.certificate} and {self.key}: {error.strerror or error}"
            raise errors.SettingsError(message) from error
        task = asyncio.create_task(self._reload(context, before, look_seconds))
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

    async def _reload(self, context: ssl.SSLContext, before: list[tuple[int, int, int]], look_seconds: float) -> None:
        while True:
            await asyncio.sleep(look_seconds)
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

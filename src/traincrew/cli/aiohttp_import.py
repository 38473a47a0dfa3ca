"""Imports aiohttp, before others do, for a third of the time.

When it is imported it reads all authorities that the machine trusts, twice, for connections that name none of their own. Those
of this process do (`client.tls`, with the machine's where they are wanted). Not for whoever uses our modules in a program of his.
"""

from __future__ import annotations

import os

_PLACES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


def _load() -> None:
    before = {name: os.environ.get(name) for name in _PLACES}
    os.environ.update(dict.fromkeys(_PLACES, os.devnull))
    try:
        import aiohttp  # noqa: F401
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


_load()

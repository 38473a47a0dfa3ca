"""Imports aiohttp in a third of the time. Import this module before other modules import aiohttp.

On import, aiohttp loads the CA certificates of the system twice, for connections without an SSL context. The connections of this
process bring their own (`client.tls`). Only the CLI imports this module: other programs that use our modules need the defaults.
"""

from __future__ import annotations

import os

_CA_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


def _load() -> None:
    before = {name: os.environ.get(name) for name in _CA_VARIABLES}
    os.environ.update(dict.fromkeys(_CA_VARIABLES, os.devnull))
    try:
        import aiohttp  # noqa: F401
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


_load()

"""Credentials in the data directory: the administrator's token and the key that signs service account tokens."""

from __future__ import annotations

import pathlib
import secrets

from traincrew.embedded import private_files
from traincrew.embedded.apiserver.authn import jwt

_ADMIN_TOKEN = "admin.token"  # noqa: S105  a file's name
_SIGNING_KEY = "service-accounts.key"


def admin_token(directory: pathlib.Path) -> str:
    """Created at the first start. If the file is deleted, the next start creates another token."""
    return private_files.read_or_create(directory / _ADMIN_TOKEN, lambda: secrets.token_urlsafe(32).encode()).decode().strip()


def signing_key(directory: pathlib.Path) -> bytes:
    """The key is kept, because tokens of pods outlive a restart of the server."""
    return private_files.read_or_create(directory / _SIGNING_KEY, lambda: secrets.token_bytes(jwt.KEY_SIZE))

"""The files in DIR/pki, with a record of expiry and names of each certificate, which saves parsing them."""

from __future__ import annotations

import hashlib
import json
import pathlib
from typing import Any

from traincrew.embedded import private_files

AUTHORITY, SERVER, CLIENT = "ca.pem", "server.pem", "kubelet-client.pem"
"""Key and certificate are in one file, so that they always match."""
AUTHORITY_CERTIFICATE = "ca.crt"
_RECORD = "made.json"
_BEGIN = b"-----BEGIN CERTIFICATE-----"


class CertificateFiles:
    def __init__(self, directory: pathlib.Path) -> None:
        self.directory = private_files.ensure_directory(directory)
        self._record: dict[str, dict[str, Any]] = self._read()

    def good_until(self, name: str) -> float:
        """Expiry time; 0 if the certificate is missing or differs from the record."""
        entry, content = self._record.get(name, {}), self.content(name)
        if not content or entry.get("sha256") != hashlib.sha256(content).hexdigest():
            return 0.0
        return float(entry["expires"])

    def names(self, name: str) -> frozenset[str]:
        return frozenset(self._record.get(name, {}).get("names", ()))

    def content(self, name: str) -> bytes:
        try:
            return (self.directory / name).read_bytes()
        except FileNotFoundError:
            return b""

    def keep(self, name: str, pem: bytes, expires: float, names: tuple[str, ...] = ()) -> None:
        """Writes the record last: after a crash in between, the certificate is issued again."""
        private_files.write(self.directory / name, pem)
        digest = hashlib.sha256(pem).hexdigest()
        self._record[name] = {"sha256": digest, "expires": expires, "names": list(names)}
        private_files.write(self.directory / _RECORD, json.dumps(self._record, indent=1).encode())

    def publish_authority(self) -> None:
        """Writes the authority's certificate without its key."""
        pair = self.content(AUTHORITY)
        certificate = pair[pair.index(_BEGIN) :]
        if self.content(AUTHORITY_CERTIFICATE) != certificate:
            private_files.write(self.directory / AUTHORITY_CERTIFICATE, certificate)

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            record = json.loads(self.content(_RECORD) or b"{}")
        except ValueError:
            return {}
        return record if isinstance(record, dict) else {}

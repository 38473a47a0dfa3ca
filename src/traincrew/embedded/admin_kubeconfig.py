"""The kubeconfig of the cluster's administrator."""

from __future__ import annotations

import base64
import json
import pathlib

from traincrew import errors
from traincrew.embedded import private_files

NAME = "traincrew"
_MARK = "# Written by traincrew, and again at every start."


def write(path: pathlib.Path, server: str, authority: bytes, token: str) -> bool:
    """Returns whether the file was written. A kubeconfig that traincrew did not write is never overwritten."""
    content = _content(server, authority, token).encode()
    try:
        present = path.read_bytes()
    except FileNotFoundError:
        present = b""
    if present and not present.startswith(_MARK.encode()):
        raise errors.KubeconfigError(
            f"{str(path)!r} is a kubeconfig that traincrew did not write. Move it or choose another path."
        )
    if present == content and not path.stat().st_mode & 0o077:
        return False
    private_files.write(path, content)
    return True


def _content(server: str, authority: bytes, token: str) -> str:
    """YAML; values are quoted as in JSON."""
    encoded = base64.b64encode(authority).decode()
    return f"""{_MARK}
apiVersion: v1
kind: Config
current-context: {NAME}
clusters:
- name: {NAME}
  cluster:
    server: {json.dumps(server)}
    certificate-authority-data: {encoded}
users:
- name: {NAME}
  user:
    token: {json.dumps(token)}
contexts:
- name: {NAME}
  context:
    cluster: {NAME}
    user: {NAME}
    namespace: default
"""

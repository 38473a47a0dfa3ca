"""The address and the credentials of a kubelet under test."""

from __future__ import annotations

import ssl

from tests.embedded.kubelet.server.process_runtime import ProcessRuntime
from tools.kube import certificates

TOKEN = "let-me-in"  # noqa: S105


class Node:
    """A running kubelet."""

    def __init__(self, runtime: ProcessRuntime, port: int, authority: certificates.Authority) -> None:
        self.runtime, self.port, self.authority = runtime, port, authority
        self.ssl = ssl.create_default_context(cafile=str(authority.path))
        self.headers = {"Authorization": f"Bearer {TOKEN}"}

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

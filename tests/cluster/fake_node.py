"""A node that answers for its pods' logs, as a kubelet does when the API server asks it."""

from __future__ import annotations

import contextlib
import http.server
import pathlib
import ssl
import tempfile
import threading
import uuid
from collections.abc import Iterator

from tests.cluster.api import Api
from tools.kube import cluster


class FakeNode:
    def __init__(self) -> None:
        self.name = f"node-{uuid.uuid4().hex[:8]}"
        self.logs: dict[tuple[str, str, str], str] = {}
        """By namespace, pod and container."""


@contextlib.contextmanager
def fake_node(api: Api, kube: cluster.Cluster) -> Iterator[FakeNode]:
    node = FakeNode()
    with tempfile.TemporaryDirectory(prefix="traincrew-node-") as directory:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(node))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*kube.node_certificate(pathlib.Path(directory)))
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        _register(api, node, server.server_address[1])
        yield node
    finally:
        api.call("DELETE", f"/api/v1/nodes/{node.name}")
        server.shutdown()
        server.server_close()
        thread.join()


def _register(api: Api, node: FakeNode, port: int) -> None:
    api.call("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node.name}})
    status = {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
    }
    api.call("PATCH", f"/api/v1/nodes/{node.name}/status", {"status": status}, "application/merge-patch+json")


def _handler(node: FakeNode) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            _, root, *place = self.path.partition("?")[0].split("/")
            text = node.logs.get(tuple(place)) if root == "containerLogs" and len(place) == 3 else None  # type: ignore[arg-type]
            self.send_response(200 if text is not None else 404)
            self.end_headers()
            self.wfile.write((text or f"no log at {self.path}").encode())

        def log_message(self, format: str, *args: object) -> None:
            """Tests have their own ways to tell."""

    return Handler

"""As much of a kubelet as `kubectl logs` needs: a node whose HTTPS endpoint answers with the logs that a test has set."""

from __future__ import annotations

import contextlib
import datetime as dt
import http.server
import ipaddress
import pathlib
import ssl
import threading
from collections.abc import Iterator

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.cluster.api import Api


class Node:
    """Pods bound to it have logs: `node.logs["pod", "container"] = "text"`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.logs: dict[tuple[str, str], str] = {}


@contextlib.contextmanager
def serving(api: Api, name: str, folder: pathlib.Path) -> Iterator[Node]:
    node = Node(name)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(node))
    server.socket = _tls(folder).wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        _register(api, name, server.server_port)
        yield node
    finally:
        server.shutdown()
        server.server_close()
        api.call("DELETE", f"/api/v1/nodes/{name}")


def _register(api: Api, name: str, port: int) -> None:
    api.call("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    status = {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
    }
    api.call("PATCH", f"/api/v1/nodes/{name}/status", {"status": status}, "application/merge-patch+json")


def _handler(node: Node) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            _, _, _, pod, container = self.path.partition("?")[0].split("/")
            body = node.logs.get((pod, container))
            self.send_response(200 if body is not None else 404)
            self.end_headers()
            self.wfile.write((body or "").encode())

        def log_message(self, *args: object) -> None:
            """Quiet: the test asserts what was served."""

    return Handler


def _tls(folder: pathlib.Path) -> ssl.SSLContext:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kubelet")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = folder / "kubelet.pem"
    file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context

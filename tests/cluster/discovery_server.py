"""A proxy of the real API server that serves the discovery documents of the embedded API server."""

from __future__ import annotations

import contextlib
import http.server
import json
import pathlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from tests.cluster.api import Api

from traincrew.apimachinery.resource_info import ResourceInfo
from traincrew.embedded.apiserver.discovery import aggregated
from traincrew.embedded.apiserver.discovery import documents as discovery_documents
from traincrew.embedded.apiserver.endpoints import content_negotiation
from traincrew.embedded.apiserver.openapi import documents, gnostic, v2
from traincrew.embedded.apiserver.schema import builtin_kinds

KEPT = ("Accept", "Content-Type", "User-Agent")


@contextlib.contextmanager
def serving(api: Api, served: Sequence[ResourceInfo], folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """Yields a kubeconfig for the proxy."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(api, served))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield _kubeconfig(folder, server.server_port)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _kubeconfig(folder: pathlib.Path, port: int) -> pathlib.Path:
    context = {"name": "front", "context": {"cluster": "front", "user": "front"}}
    cluster = {"name": "front", "cluster": {"server": f"http://127.0.0.1:{port}"}}
    config = {"apiVersion": "v1", "kind": "Config", "current-context": "front", "contexts": [context], "clusters": [cluster]}
    path = folder / "front.kubeconfig"
    path.write_text(json.dumps(config | {"users": [{"name": "front", "user": {}}]}))
    return path


def _handler(api: Api, served: Sequence[ResourceInfo]) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

        def _handle(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            document = _document(self.path, self.headers.get("Accept", ""), served) if self.command == "GET" else None
            if document is not None:
                self._answer(200, *document)
                return
            headers = {key: self.headers[key] for key in KEPT if key in self.headers}
            found = api.session.request(self.command, api.server + self.path, data=body, headers=headers, timeout=60)
            self._answer(found.status_code, found.content, found.headers.get("Content-Type", ""))

        def _answer(self, code: int, body: bytes, content_type: str) -> None:
            self.send_response(code)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _handle

    return Handler


def _document(path: str, wanted: str, served: Sequence[ResourceInfo]) -> tuple[bytes, str] | None:
    definitions = builtin_kinds.load().definitions
    match path.partition("?")[0].strip("/").split("/"):
        case ["api" | "apis" as root]:
            form = content_negotiation.negotiate(wanted, content_negotiation.DISCOVERY)
            if form.kind:
                document = (aggregated.core if root == "api" else aggregated.groups)(served, form.version)
            else:
                document = (
                    discovery_documents.group_list(served) if root == "apis" else discovery_documents.core_versions("127.0.0.1:1")
                )
            return msgspec.json.encode(document), form.content_type
        case ["openapi", "v2"]:
            assert wanted == gnostic.REQUESTED_MEDIA_TYPE
            return gnostic.encode(v2.document(served, definitions)), gnostic.RESPONSE_MEDIA_TYPE
        case ["openapi", "v3"]:
            return msgspec.json.encode(documents.index(served)), content_negotiation.JSON
        case ["openapi", "v3", "api", version]:
            return msgspec.json.encode(documents.document(served, "", version, definitions)), content_negotiation.JSON
        case ["openapi", "v3", "apis", group, version]:
            return msgspec.json.encode(documents.document(served, group, version, definitions)), content_negotiation.JSON
    return None

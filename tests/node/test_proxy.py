"""pods/proxy and services/proxy: a browser opens the page of a server in a pod, through `kubectl proxy` or the API server."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import urllib.request
from collections.abc import Iterator
from typing import Any
from unittest.mock import ANY

from tests.cluster.api import eventually
from tests.node.local_cluster import LocalCluster, pod
from tools.kube import build

SERVER = """
import http.server, json, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        content = json.dumps({"path": self.path, "host": self.headers["Host"], "token": self.headers["Authorization"]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
http.server.HTTPServer((sys.argv[1], int(sys.argv[2])), Handler).serve_forever()
"""


def _create_server(cluster: LocalCluster, name: str, port: int, listen: str = "") -> None:
    """A pod and a Service. The pod is ready when its server listens."""
    ready = {"exec": {"command": ["python3", "-c", f"import socket; socket.create_connection(('127.0.0.1', {port}))"]}}
    served = pod(name, "python3", "-c", SERVER, listen, str(port), readinessProbe={**ready, "periodSeconds": 1})
    served["metadata"]["labels"] = {"server": name}
    spec = {"clusterIP": "None", "selector": {"server": name}, "ports": [{"name": "http", "port": port}]}
    cluster.create(served, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec})
    cluster.running(name)


def _has_endpoints(cluster: LocalCluster, name: str) -> bool:
    return any(subset.get("addresses") for subset in _get(cluster, f"endpoints/{name}")[1].get("subsets") or ())


def _get(cluster: LocalCluster, path: str) -> tuple[int, Any]:
    response = cluster.api.session.get(f"{cluster.api.server}/api/v1/namespaces/default/{path}")
    return response.status_code, response.json()


@contextlib.contextmanager
def _kubectl_proxy(cluster: LocalCluster) -> Iterator[str]:
    command = [str(build.program("kubectl")), "--kubeconfig", str(cluster.kubeconfig), "proxy", "--port=0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"127\.0\.0\.1:\d+", process.stdout.readline())
            assert found
            yield f"http://{found[0]}"
        finally:
            process.terminate()


def test_a_page_of_a_service_opens_through_kubectl_proxy(cluster: LocalCluster) -> None:
    _create_server(cluster, "tensorboard", 16006)
    eventually(lambda: _has_endpoints(cluster, "tensorboard"), seconds=30)
    with _kubectl_proxy(cluster) as url:
        for name in ("services/tensorboard:16006", "services/tensorboard:http", "pods/tensorboard:16006"):
            with urllib.request.urlopen(f"{url}/api/v1/namespaces/default/{name}/proxy/data?run=1") as response:
                seen = json.load(response)
            assert (name, seen["path"], seen["token"]) == (name, "/data?run=1", None)


def test_the_ports_of_a_pod_are_reached_or_refused(any_cluster: LocalCluster) -> None:
    _create_server(any_cluster, "web", 16007)
    assert _get(any_cluster, "pods/web:16007/proxy/x") == (200, {"path": "/x", "host": ANY, "token": None})
    status, error = _get(any_cluster, "pods/web:16017/proxy/")
    assert status == 503
    assert error["message"].startswith("error trying to reach service: dial tcp ")
    assert error["message"].endswith(":16017: connect: connection refused")


def test_a_server_on_the_loopback_interface_of_a_pod_is_not_reached(cluster: LocalCluster) -> None:
    _create_server(cluster, "private", 16008, "127.0.0.1")
    assert _get(cluster, "pods/private:16008/proxy/")[0] == 503

"""A job with a log directory, and a server in place of TensorBoard that its replicas find."""

from __future__ import annotations

import pathlib
from typing import Any

SERVER = """
import argparse, functools, http.server, signal, sys
parser = argparse.ArgumentParser()
for name in ("--logdir", "--host"):
    parser.add_argument(name)
parser.add_argument("--port", type=int)
given = parser.parse_args()
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))

class Handler(http.server.SimpleHTTPRequestHandler):
    def end_headers(self):
        self.send_header("Set-Cookie", "pod=1; Path=/")
        super().end_headers()
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body + b" " + str(self.headers.get("Cookie")).encode())

handler = functools.partial(Handler, directory=given.logdir)
http.server.ThreadingHTTPServer((given.host, given.port), handler).serve_forever()
"""


def install(directory: pathlib.Path) -> None:
    package = directory / "tensorboard"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "main.py").write_text(SERVER)


def job(name: str, directory: pathlib.Path) -> dict[str, Any]:
    """A JAXJob that writes logs to `runs` in a directory of the machine."""
    (directory / "runs").mkdir(exist_ok=True)
    container = {
        "name": "jax",
        "image": "any",
        "command": ["sh", "-c", f"sleep 1000; true --logdir {directory}/runs"],
        "env": [{"name": "PYTHONPATH", "value": str(directory)}, {"name": "PYTHONSAFEPATH", "value": ""}],
        "volumeMounts": [{"name": "work", "mountPath": str(directory)}],
    }
    pod = {"containers": [container], "volumes": [{"name": "work", "hostPath": {"path": str(directory)}}]}
    worker = {"replicas": 1, "restartPolicy": "Never", "template": {"spec": pod}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "JAXJob",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"jaxReplicaSpecs": {"Worker": worker}},
    }

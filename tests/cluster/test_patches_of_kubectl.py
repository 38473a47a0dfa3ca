"""The patches that kubectl sends, compared with the real API server request by request."""

from __future__ import annotations

import contextlib
import copy
import http.server
import json
import threading
import urllib.parse
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from tests.apimachinery.patches import random_writes
from tests.apimachinery.patches.random_writes import APPLY, PUT, RandomWrite
from tests.cluster.api import Api, Object, RejectedRequest
from tests.cluster.test_patches_agree import bare, unlike
from tools.kube import cluster

from traincrew.apimachinery.api_errors import StatusError
from traincrew.apimachinery.resource_info import Schema
from traincrew.embedded.apiserver.schema import builtin_kinds

DEPLOYMENT: Object = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "d", "labels": {"a": "x", "b": "y"}},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "x"}},
        "template": {
            "metadata": {"labels": {"app": "x"}},
            "spec": {
                "containers": [
                    {"name": "c1", "image": "i:1", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
                    {"name": "c2", "image": "i:1", "ports": [{"containerPort": 80}], "args": ["x", "y"]},
                ],
                "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "m"}}],
            },
        },
    },
}
SERVICE: Object = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "d", "finalizers": ["example.com/a"]},
    "spec": {"selector": {"app": "x"}, "ports": [{"port": 80, "name": "a"}, {"port": 81, "protocol": "UDP", "name": "b"}]},
}


class PatchRecorder:
    """Stands between kubectl and the API server, and does each patch of kubectl's itself, too."""

    def __init__(self, api: Api, schemas: dict[str, Schema]) -> None:
        self._api, self._schemas = api, schemas
        self.patches: list[str] = []
        self.faults: list[str] = []

    def forward(self, verb: str, path: str, body: bytes, content: str) -> tuple[int, bytes, str]:
        place, _, query = path.partition("?")
        step = _step(body, content, dict(urllib.parse.parse_qsl(query)))
        before = self._live(place) if verb == "PATCH" else None
        expected = self._expected(place, before, step) if before is not None else {}
        headers = {"Content-Type": content, "User-Agent": "kubectl/test"}
        response = self._api.session.request(verb, self._api.server + path, data=body, headers=headers)
        if before is not None:
            self.patches.append(content)
            self._judge(before, step, response.json(), expected)
        return response.status_code, response.content, response.headers.get("Content-Type", "")

    def _expected(self, place: str, before: Object, step: RandomWrite) -> Object:
        """What the server makes of what we would write, before it knows the patch; or our rejection."""
        try:
            ours = random_writes.patched_object(before, step, self._schemas[before["kind"]], "2000-01-01T00:00:00Z")
        except StatusError as rejection:
            return rejection.status()
        try:
            return self._api.call("PUT", place, ours | {"metadata": _unowned(ours["metadata"])}, dryRun="All")
        except RejectedRequest as refused:
            return refused.status

    def _live(self, place: str) -> Object | None:
        response = self._api.session.get(self._api.server + place)
        return response.json() if response.status_code == 200 else None

    def _judge(self, before: Object, step: RandomWrite, after: Object, expected: Object) -> None:
        faults = [unlike(bare(expected), bare(after))]
        if after["kind"] != "Status":
            faults.append(unlike(self._owners(before, step, after), after["metadata"].get("managedFields") or []))
        self.faults += [f"{step}\n{fault}" for fault in faults if fault]

    def _owners(self, before: Object, step: RandomWrite, after: Object) -> list[Object]:
        schema = self._schemas[before["kind"]]
        times = [entry.get("time", "") for entry in after["metadata"].get("managedFields") or ()]
        now = random_writes.moment(step, after, max(times, default=""))
        ours = random_writes.patched_object(before, step, schema, now)
        if step.content == APPLY:
            return ours["metadata"].get("managedFields") or []
        given = {key: ours["metadata"][key] for key in ("managedFields",) if key in ours["metadata"]}
        written = after | {"metadata": _unowned(after["metadata"]) | given}
        return random_writes.owners(before, written, step, schema, now)


def _unowned(metadata: Object) -> Object:
    return {key: value for key, value in metadata.items() if key != "managedFields"}


def _step(body: bytes, content: str, query: dict[str, str]) -> RandomWrite:
    read: Any = yaml.safe_load(body) if content == APPLY else json.loads(body or b"null")
    return RandomWrite(content or PUT, read, query.get("fieldManager", "kubectl"), query.get("force") == "true")


@contextlib.contextmanager
def listening(recorder: PatchRecorder) -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            try:
                code, answer, content = recorder.forward(self.command, self.path, body, self.headers.get("Content-Type", ""))
            except Exception as fault:
                recorder.faults.append(repr(fault))
                code, answer, content = 500, b"", ""
            self.send_response(code)
            self.send_header("Content-Type", content)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = do_any

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Kubectl:
    def __init__(self, kube: cluster.Cluster, recorder: PatchRecorder, arguments: tuple[str, ...]) -> None:
        self._kube, self._recorder, self._to = kube, recorder, arguments

    def __call__(self, *arguments: str, manifest: Object | None = None, expected_error: str = "") -> None:
        """`expected_error`: what it must say of a rejection; it must succeed if that is empty."""
        given = ("-f", "-") if manifest is not None else ()
        result = self._kube.kubectl(*self._to, *arguments, *given, input=json.dumps(manifest) if manifest else None)
        assert not self._recorder.faults, self._recorder.faults[0]
        assert (result.returncode == 0) == (not expected_error), result.stderr
        assert expected_error in result.stderr


@pytest.fixture
def recorder(api: Api) -> PatchRecorder:
    known = builtin_kinds.load()
    return PatchRecorder(api, {each.kind: each.schema for each in known.resources() if each.kind in ("Deployment", "Service")})


@pytest.fixture
def kubectl(kube: cluster.Cluster, recorder: PatchRecorder, namespace: str) -> Iterator[Kubectl]:
    with listening(recorder) as server:
        yield Kubectl(kube, recorder, ("--server", server, "-n", namespace))


def changed() -> Object:
    """An item more, an item less, another order, another value."""
    after = copy.deepcopy(DEPLOYMENT)
    spec = after["spec"]["template"]["spec"]
    after["spec"] |= {"replicas": 2, "strategy": {"type": "Recreate"}}
    after["metadata"]["labels"] = {"b": "z", "c": "z"}
    spec["containers"][0] |= {"image": "i:2", "env": [{"name": "C", "value": "3"}, {"name": "B", "value": "2"}]}
    spec["containers"] = [{"name": "c0", "image": "i:0"}, spec["containers"][0]]
    spec["volumes"] = [{"name": "w", "emptyDir": {}}, {"name": "u", "emptyDir": {}}]
    return after


def test_patches_that_kubectl_computes_do_the_same(kubectl: Kubectl, recorder: PatchRecorder) -> None:
    for manifest in (DEPLOYMENT, changed(), DEPLOYMENT):
        kubectl("apply", manifest=manifest)
    kubectl("apply", manifest=SERVICE)
    fewer = copy.deepcopy(SERVICE)
    fewer["spec"]["ports"].pop(0)
    fewer["metadata"]["finalizers"] = ["example.com/b"]
    kubectl("apply", manifest=fewer)
    kubectl("patch", "service", "d", "--type=json", "-p", '[{"op": "remove", "path": "/metadata/finalizers"}]')
    assert recorder.patches == [random_writes.STRATEGIC] * 3 + [random_writes.JSON]


def test_client_side_apply_becomes_server_side_apply(kubectl: Kubectl, recorder: PatchRecorder) -> None:
    after = changed()
    kubectl("apply", manifest=DEPLOYMENT)
    kubectl("apply", "--server-side", manifest=after, expected_error='conflict with "kubectl-client-side-apply"')
    del after["spec"]["strategy"]
    after["spec"]["template"]["spec"]["volumes"] = [{"name": "u", "emptyDir": {}}]
    kubectl("apply", "--server-side", manifest=after)
    kubectl("apply", manifest=DEPLOYMENT)
    after["spec"]["strategy"] = {"type": "Recreate", "rollingUpdate": None}
    kubectl(
        "apply", "--server-side", "--force-conflicts", manifest=after, expected_error="spec.strategy.rollingUpdate: Forbidden"
    )
    del after["spec"]["strategy"]
    kubectl("apply", "--server-side", "--force-conflicts", manifest=after)
    assert random_writes.JSON in recorder.patches, "kubectl hands its fields over to its new name by a JSON patch"


def test_objects_that_kubectl_only_edits_do_the_same(kubectl: Kubectl, recorder: PatchRecorder) -> None:
    kubectl("create", manifest=DEPLOYMENT)
    kubectl("label", "deployment", "d", "a-", "n=1")
    kubectl("annotate", "deployment", "d", "n=1")
    kubectl("set", "image", "deployment/d", "c1=i:3")
    kubectl("set", "env", "deployment/d", "A-", "D=4")
    kubectl(
        "patch", "deployment", "d", "-p", '{"spec": {"template": {"spec": {"containers": [{"name": "c2", "$patch": "delete"}]}}}}'
    )
    kubectl("patch", "deployment", "d", "--type=merge", "-p", '{"metadata": {"labels": null}}')
    assert len(recorder.patches) == 6

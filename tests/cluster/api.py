"""A synchronous client of the real API server for tests. It uses dictionaries and none of our own code."""

from __future__ import annotations

import atexit
import base64
import contextlib
import json
import os
import pathlib
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests
import yaml

Object = dict[str, Any]

GROUPS = {
    "pods": "/api/v1", "services": "/api/v1", "configmaps": "/api/v1", "secrets": "/api/v1", "events": "/api/v1",
    "serviceaccounts": "/api/v1", "namespaces": "/api/v1", "resourcequotas": "/api/v1", "persistentvolumeclaims": "/api/v1",
    "persistentvolumes": "/api/v1", "nodes": "/api/v1",
    "roles": "/apis/rbac.authorization.k8s.io/v1", "rolebindings": "/apis/rbac.authorization.k8s.io/v1",
    "jobs": "/apis/batch/v1", "leases": "/apis/coordination.k8s.io/v1",
    "horizontalpodautoscalers": "/apis/autoscaling/v2",
    "customresourcedefinitions": "/apis/apiextensions.k8s.io/v1",
}  # fmt: skip
KINDS = {
    "TFJob": "tfjobs", "PyTorchJob": "pytorchjobs", "MPIJob": "mpijobs", "XGBoostJob": "xgboostjobs", "PaddleJob": "paddlejobs",
    "JAXJob": "jaxjobs", "Pod": "pods", "Service": "services", "ConfigMap": "configmaps", "Secret": "secrets",
    "ServiceAccount": "serviceaccounts", "Role": "roles", "RoleBinding": "rolebindings", "Job": "jobs",
    "ResourceQuota": "resourcequotas",
}  # fmt: skip
CLUSTER_SCOPED = ("namespaces", "nodes", "persistentvolumes", "customresourcedefinitions")


class RejectedRequest(Exception):
    """An error response of the API server."""

    def __init__(self, response: requests.Response) -> None:
        self.code = response.status_code
        try:
            self.status: Object = response.json()
        except ValueError:
            self.status = {}
        self.message = str(self.status.get("message") or response.text)
        super().__init__(f"{self.code}: {self.message}")


class Api:
    """A client for one kubeconfig."""

    def __init__(self, kubeconfig: str | os.PathLike[str]) -> None:
        config = yaml.safe_load(pathlib.Path(kubeconfig).read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.server: str = cluster["server"]
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.verify = _file(cluster, "certificate-authority") or False
        if "token" in user:
            self.session.headers["Authorization"] = f"Bearer {user['token']}"
        else:
            self.session.cert = (_file(user, "client-certificate") or "", _file(user, "client-key") or "")

    def path(self, plural: str, namespace: str = "", name: str = "", sub: str = "", version: str = "v1") -> str:
        root = GROUPS.get(plural, f"/apis/kubeflow.org/{version}")
        if plural == "podgroups":
            root = f"/apis/{version}"
        place = f"/namespaces/{namespace}" if namespace and plural not in CLUSTER_SCOPED else ""
        return root + place + "/" + "/".join(part for part in (plural, name, sub) if part)

    def call(self, verb: str, path: str, body: Any = None, content: str = "application/json", **query: str) -> Object:
        data = json.dumps(body) if body is not None else None
        response = self.session.request(
            verb, self.server + path, data=data, params=query, headers={"Content-Type": content}, timeout=60
        )
        if response.status_code >= 400:
            raise RejectedRequest(response)
        found: Object = response.json()
        return found

    def create(self, namespace: str, body: Object, **query: str) -> Object:
        group, _, version = body["apiVersion"].rpartition("/")
        plural = KINDS.get(body["kind"], body["kind"].lower() + "s")
        if plural == "podgroups":
            version = body["apiVersion"]
        path = self.path(plural, namespace, version=version if group in ("kubeflow.org",) or plural == "podgroups" else "v1")
        return self.call("POST", path, body, **query)

    def get(self, plural: str, namespace: str, name: str, sub: str = "", version: str = "v1") -> Object:
        return self.call("GET", self.path(plural, namespace, name, sub, version))

    def find(self, plural: str, namespace: str, name: str, version: str = "v1") -> Object | None:
        try:
            return self.get(plural, namespace, name, version=version)
        except RejectedRequest as refused:
            if refused.code == 404:
                return None
            raise

    def all(self, plural: str, namespace: str, labels: str = "", version: str = "v1") -> list[Object]:
        query = {"labelSelector": labels} if labels else {}
        items: list[Object] = self.call("GET", self.path(plural, namespace, version=version), **query)["items"]
        return items

    def patch(self, plural: str, namespace: str, name: str, body: Any, sub: str = "", version: str = "v1") -> Object:
        return self.call("PATCH", self.path(plural, namespace, name, sub, version), body, "application/merge-patch+json")

    def replace(self, plural: str, namespace: str, name: str, body: Object, sub: str = "", version: str = "v1") -> Object:
        return self.call("PUT", self.path(plural, namespace, name, sub, version), body)

    def delete(self, plural: str, namespace: str, name: str, grace: int | None = None, version: str = "v1") -> None:
        options: Object = {"propagationPolicy": "Background"}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        with contextlib.suppress(_NotFound):
            try:
                self.call("DELETE", self.path(plural, namespace, name, version=version), options)
            except RejectedRequest as refused:
                if refused.code == 404:
                    raise _NotFound from refused
                raise

    def names(self, plural: str, namespace: str) -> set[str]:
        return {item["metadata"]["name"] for item in self.all(plural, namespace)}

    def events(self, namespace: str, name: str) -> list[Object]:
        """Events on the job of that name."""
        return [event for event in self.all("events", namespace) if event["involvedObject"].get("name") == name]


class _NotFound(Exception):
    pass


def _file(entry: Object, key: str) -> str | None:
    if key in entry:
        return str(entry[key])
    if f"{key}-data" not in entry:
        return None
    handle, name = tempfile.mkstemp(prefix="traincrew-test-")
    os.write(handle, base64.b64decode(entry[f"{key}-data"]))
    os.close(handle)
    atexit.register(pathlib.Path(name).unlink, missing_ok=True)
    return name


def eventually(claim: Callable[[], Any], seconds: float = 90.0, because: str = "") -> Any:
    """Wait until the condition returns a true value without an exception, and return that value."""
    began = time.monotonic()
    trouble: BaseException | None = None
    while True:
        try:
            found = claim()
            if found:
                return found
            trouble = None
        except (AssertionError, RejectedRequest, KeyError, IndexError, TypeError, StopIteration) as error:
            trouble = error
        waited = time.monotonic() - began
        if waited > seconds:
            raise AssertionError(because or f"did not become true within {seconds} s") from trouble
        # What takes long is asked for less often: the requests cost CPU time that it needs itself.
        time.sleep(min(max(waited / 20, 0.03), 0.1))


def consistently(claim: Callable[[], Any], seconds: float = 1.0) -> None:
    """Assert that the condition holds for the whole time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert claim()
        time.sleep(0.05)


@contextlib.contextmanager
def rejected(code: int, *texts: str) -> Iterator[None]:
    """Expect an error response with this code and these texts."""
    with pytest.raises(RejectedRequest) as caught:
        yield
    assert caught.value.code == code, caught.value
    for text in texts:
        assert text in caught.value.message, caught.value.message

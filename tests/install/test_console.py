"""The console of the chart: no rights unless a proxy needs them, the same as the manifests, and it runs as a pod."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import pathlib
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from tests.cluster import audit
from tests.cluster.api import eventually
from tests.console import users
from tests.install import console_values, mapped_node
from tests.install import helm as helm_module
from tests.install.helm import CHART, IMAGE, ROOT, Helm, Object
from tests.node.joined_node import JoinedNode
from tools.kube import build

from traincrew.console import page_files

LONG = 180.0
NAME = console_values.NAME


def test_the_console_is_off_by_default(helm: Helm) -> None:
    assert not [key for key in helm.render() if "console" in key[1]]


def test_the_console_has_no_right_and_no_token(helm: Helm) -> None:
    before, after = helm.render(), helm.render("--set=console.enabled=true")
    added = {kind for kind, name in set(after) - set(before)}
    assert added == {"ServiceAccount", "Deployment", "Service", "NetworkPolicy"}
    assert after["ServiceAccount", NAME]["automountServiceAccountToken"] is False
    assert console_values.pod(after)["automountServiceAccountToken"] is False


def test_a_proxy_needs_the_right_to_impersonate_users_and_the_named_groups_alone(helm: Helm) -> None:
    found = helm.render(f"--set-json={console_values.BY_PROXY}")
    granted = helm_module.permissions(found["ClusterRole", NAME])
    assert granted == {("impersonate", "", "users", ""), ("impersonate", "", "groups", "ops")}
    assert console_values.pod(found)["automountServiceAccountToken"] is True
    (subject,) = found["ClusterRoleBinding", NAME]["subjects"]
    assert subject["name"] == NAME


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ("proxy.userHeader=X-User", "set console.proxy.addresses or console.proxy.secret"),
        ("proxy.userHeader=X-User,console.proxy.secret=s,console.proxy.groupsHeader=X-Groups", "console.proxy.groups"),
        ("proxy.secret=s", "set console.proxy.userHeader"),
        ("publicUrl=console.example.com", "at '/console/publicUrl'"),
        ("publicURL=https://c", "additional properties 'publicURL' not allowed"),
    ],
)
def test_values_that_would_trust_everybody_or_make_no_sense_are_refused(helm: Helm, values: str, reason: str) -> None:
    assert reason in helm.failure(f"--set=console.enabled=true,console.{values}")


def test_the_selectors_of_operator_and_console_do_not_overlap(helm: Helm) -> None:
    found = helm.render("--set=console.enabled=true,networkPolicy.enabled=true")
    labels = {name: found["Deployment", name]["spec"]["template"]["metadata"]["labels"] for name in ("traincrew", NAME)}
    for kind, field in (("Service", "selector"), ("NetworkPolicy", "podSelector")):
        for name in labels:
            selector = found[kind, name]["spec"][field]
            wanted = selector.get("matchLabels", selector)
            assert [each for each, given in labels.items() if wanted.items() <= given.items()] == [name]


def _bare(objects: dict[tuple[str, str], Object], kind: str) -> Any:
    """Without the labels of a release, which the manifests do not have."""
    text = json.dumps(objects[kind, NAME]["spec"], sort_keys=True)
    return json.loads(
        text.replace('"app.kubernetes.io/instance": "traincrew", ', "").replace('"imagePullPolicy": "IfNotPresent", ', "")
    )


def test_the_chart_renders_the_console_of_the_manifests(helm: Helm) -> None:
    built = helm_module.by_name(helm_module.kustomize(ROOT / "manifests" / "console"))
    chart = helm.render("--set=console.enabled=true", "--set=image.repository=traincrew")
    for kind in ("Deployment", "Service", "NetworkPolicy"):
        assert _bare(chart, kind) == _bare(built, kind)


@pytest.fixture(scope="module")
def machine() -> Iterator[JoinedNode]:
    with mapped_node.running() as node:
        yield node


@contextlib.contextmanager
def forwarding(machine: JoinedNode) -> Iterator[int]:
    """`kubectl port-forward`, as docs/install.md says, at a free port of this machine."""
    command = ["-n", "kubeflow", "port-forward", f"service/{NAME}"]
    assert f"kubectl {' '.join(command)} 8470:80" in (ROOT / "docs" / "install.md").read_text()
    environment = {**os.environ, "KUBECONFIG": str(machine.kube.kubeconfig)}
    with subprocess.Popen(
        [build.program("kubectl"), *command, ":80"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.search(r"127\.0\.0\.1:(\d+) -> ", line)
            assert found, line
            yield int(found[1])
        finally:
            process.terminate()


def _call(port: int, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        response = connection.getresponse()
        text = response.read()
        is_json = response.headers.get_content_type() == "application/json"
        return response.status, json.loads(text) if is_json and text else text.decode(), response.headers.get("Set-Cookie", "")
    finally:
        connection.close()


def test_the_console_of_the_chart_runs_and_users_have_their_own_rights_on_a_real_api_server(
    machine: JoinedNode, tmp_path: pathlib.Path
) -> None:
    assert page_files.is_built(), "run `make console`"
    helm = Helm(tmp_path, machine.kube.kubeconfig)
    helm.succeed("install", "traincrew", CHART, IMAGE, "--set=console.enabled=true")
    status = ("-n", "kubeflow", "rollout", "status", f"deployment/{NAME}", f"--timeout={int(LONG)}s")
    done = machine.kube.kubectl(*status)
    pods = machine.api.all("pods", "kubeflow", labels=f"app.kubernetes.io/name={NAME}")
    assert done.returncode == 0, f"{done.stderr} {[pod['status'] for pod in pods]} {machine.log()}"
    viewer, nobody = (users.token_of(machine.kube.kubeconfig, name, role) for name, role in (("v", "view"), ("n", "")))
    with forwarding(machine) as port:
        assert _call(port, "GET", "/readyz")[:2] == (200, "ok\n")
        assert _call(port, "GET", "/api/v1/jobs")[1]["reason"] == "SignInRequired"
        assert "<html" in _call(port, "GET", "/jobs")[1]
        assert _call(port, "POST", "/api/v1/session", {"token": "wrong"})[1]["reason"] == "Unauthorized"
        for secret, user, may_list in ((viewer, "v", True), (nobody, "n", False)):
            code, session, cookie = _call(port, "POST", "/api/v1/session", {"token": secret})
            assert (code, session["user"]) == (200, f"system:serviceaccount:default:{user}"), session
            sent = {"Cookie": cookie.partition(";")[0], "X-CSRF-Token": session["csrfToken"]}
            assert _call(port, "GET", "/api/v1/jobs", **sent)[0] == 200
            code, error, _ = _call(port, "GET", "/api/v1/jobs/default/pytorchjob/none", **sent)
            assert (code, error["reason"]) == ((404, "NotFound") if may_list else (403, "Forbidden"))
            assert _call(port, "DELETE", "/api/v1/session", **sent)[0] == 204
            assert _call(port, "GET", "/api/v1/jobs", **sent)[0] == 401
    assert audit.requests(machine.kube, f"kubeflow:{NAME}") == [], "the console itself asks for nothing"
    machine.kube.kubectl("-n", "kubeflow", "delete", f"deployment/{NAME}")
    eventually(lambda: not machine.api.all("pods", "kubeflow", labels=f"app.kubernetes.io/name={NAME}"), LONG)


def test_recordings_have_a_directory_although_the_root_of_the_file_system_is_read_only(helm: Helm) -> None:
    spec = helm.render("--set=console.enabled=true")["Deployment", NAME]["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert {each["name"]: each["mountPath"] for each in container["volumeMounts"]}["recordings"].split("/") == ["", "tmp"]
    (volume,) = [each for each in spec["volumes"] if each["name"] == "recordings"]
    assert volume["emptyDir"]["sizeLimit"] == "4Gi"

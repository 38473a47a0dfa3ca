"""Authentication, authorization, checks of Host and Origin, and protection of secrets."""

from __future__ import annotations

import asyncio
import base64
import json
import pathlib
import ssl
import stat
from collections.abc import Iterator
from typing import Any

import aiohttp
import pytest
from tests.embedded.resilience.cluster_process import ClusterProcess

JSON = {"Content-Type": "application/json"}
SECRET = "hunter2-very-secret-indeed"  # noqa: S105
CORE = "/api/v1/namespaces/default"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterProcess]:
    directory = tmp_path_factory.mktemp("security")
    process = ClusterProcess(directory / "data", "--log-level", "debug", "--audit-log", str(directory / "audit.log"))
    process.start(umask=0)
    yield process
    assert process.stop() == 0
    assert "Traceback" not in process.log()


async def send_request(cluster: ClusterProcess, method: str, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
    """Sends the request as the administrator, unless `headers` overrides the credentials."""
    data = json.dumps(body).encode() if body is not None else None
    async with cluster.client(**headers) as client, client.request(method, path, data=data, headers=JSON) as response:
        return response.status, await response.json(content_type=None)


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": ""},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJzeXN0ZW06YWRtaW4ifQ."},
        {"Authorization": "Basic YWRtaW46YWRtaW4="},
        {"Authorization": "Bearer"},
        {"Authorization": "", "Sec-WebSocket-Protocol": "base64url.bearer.authorization.k8s.io.d3Jvbmc"},
        {"Authorization": "", "X-Remote-User": "admin", "X-Remote-Group": "system:masters"},
        {"Authorization": "", "Impersonate-User": "system:admin"},
    ],
)
@pytest.mark.parametrize("path", ["/api/v1/pods", "/apis", "/api/v1/namespaces/kubeflow/pods/traincrew-operator/log", "/nowhere"])
async def test_invalid_credentials_get_401(cluster: ClusterProcess, headers: dict[str, str], path: str) -> None:
    code, status = await send_request(cluster, "GET", path, **headers)
    assert (code, status["kind"], status["reason"]) == (401, "Status", "Unauthorized")


@pytest.mark.parametrize(
    "headers",
    [{"Host": "rebound.example"}, {"Host": "127.0.0.1.nip.example:6443"}, {"Origin": "https://evil.example"}, {"Origin": "null"}],
)
@pytest.mark.parametrize("token", ["good", ""])
async def test_foreign_hosts_and_origins_get_403_with_or_without_credentials(
    cluster: ClusterProcess, headers: dict[str, str], token: str
) -> None:
    sent = headers if token else headers | {"Authorization": ""}
    for path in ("/api/v1/pods", "/healthz", "/version"):
        code, status = await send_request(cluster, "GET", path, **sent)
        assert (code, status["reason"]) == (403, "Forbidden")


async def token_of(cluster: ClusterProcess, account: str, pod: dict[str, Any] | None = None) -> str:
    spec: dict[str, Any] = {"expirationSeconds": 3607}
    if pod:
        spec["boundObjectRef"] = {
            "kind": "Pod",
            "apiVersion": "v1",
            "name": pod["metadata"]["name"],
            "uid": pod["metadata"]["uid"],
        }
    body = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "spec": spec}
    code, response = await send_request(cluster, "POST", f"{CORE}/serviceaccounts/{account}/token", body)
    assert code == 201, response
    return str(response["status"]["token"])


async def create(cluster: ClusterProcess, plural: str, body: dict[str, Any]) -> dict[str, Any]:
    code, response = await send_request(cluster, "POST", f"{CORE}/{plural}", body)
    assert code == 201, response
    assert isinstance(response, dict)
    return response


def pod(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "main", "image": "busybox"}]}}


async def test_a_pod_token_expires_with_the_pod(cluster: ClusterProcess) -> None:
    first = await create(cluster, "pods", pod("bound"))
    token = await token_of(cluster, "default", first)
    credentials = {"Authorization": f"Bearer {token}"}
    assert (await send_request(cluster, "GET", "/api", **credentials))[0] == 200
    assert (await send_request(cluster, "GET", f"{CORE}/pods", **credentials))[0] == 403
    assert (await send_request(cluster, "DELETE", f"{CORE}/pods/bound"))[0] == 200
    assert (await send_request(cluster, "GET", "/api", **credentials))[0] == 401
    await create(cluster, "pods", pod("bound"))  # another pod of the same name
    assert (await send_request(cluster, "GET", "/api", **credentials))[0] == 401


async def test_a_service_account_token_expires_with_the_service_account(cluster: ClusterProcess) -> None:
    await create(cluster, "serviceaccounts", {"metadata": {"name": "short"}})
    credentials = {"Authorization": f"Bearer {await token_of(cluster, 'short')}"}
    assert (await send_request(cluster, "GET", "/api", **credentials))[0] == 200
    await send_request(cluster, "DELETE", f"{CORE}/serviceaccounts/short")
    assert (await send_request(cluster, "GET", "/api", **credentials))[0] == 401


MPI = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "MPIJob",
    "metadata": {"name": "m"},
    "spec": {
        "mpiReplicaSpecs": {
            role: {"replicas": count, "template": {"spec": {"containers": [{"name": "mpi", "image": "mpi"}]}}}
            for role, count in (("Launcher", 1), ("Worker", 2))
        }
    },
}


async def test_the_launcher_of_an_mpi_job_may_exec_into_its_workers_and_nothing_else(cluster: ClusterProcess) -> None:
    code, response = await send_request(cluster, "POST", "/apis/kubeflow.org/v1/namespaces/default/mpijobs", MPI)
    assert code == 201, response
    async with asyncio.timeout(60):
        while (await send_request(cluster, "GET", f"{CORE}/pods/m-worker-1"))[0] != 200:
            pass
    await create(cluster, "pods", pod("bystander"))
    credentials = {"Authorization": f"Bearer {await token_of(cluster, 'm-launcher')}"}
    # Allowed, but no node runs the pod yet: any code but 403.
    for worker in ("m-worker-0", "m-worker-1"):
        assert (await send_request(cluster, "POST", f"{CORE}/pods/{worker}/exec?command=ls&stdout=true", **credentials))[0] != 403
    forbidden = [
        ("POST", f"{CORE}/pods/bystander/exec?command=ls&stdout=true"),
        ("GET", f"{CORE}/pods/bystander/exec?command=ls&stdout=true"),
        ("POST", f"{CORE}/pods/m-worker-0/attach?stdout=true"),
        ("POST", f"{CORE}/pods/m-worker-0/portforward"),
        ("POST", "/api/v1/namespaces/kubeflow/pods/m-worker-0/exec?command=ls&stdout=true"),
        ("GET", f"{CORE}/secrets"),
        ("DELETE", f"{CORE}/pods/m-worker-0"),
        ("POST", f"{CORE}/serviceaccounts/default/token"),
        ("GET", "/api/v1/namespaces/kubeflow/pods"),
    ]
    for method, path in forbidden:
        code, status = await send_request(cluster, method, path, {} if method == "POST" else None, **credentials)
        assert (code, status["reason"]) == (403, "Forbidden"), (method, path, status)
    assert (await send_request(cluster, "GET", f"{CORE}/pods", **credentials))[0] == 200


async def test_no_service_account_becomes_a_master(cluster: ClusterProcess) -> None:
    await create(cluster, "serviceaccounts", {"metadata": {"name": "climber"}})
    roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
    rules = [{"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles", "rolebindings"], "verbs": ["create"]}]
    code, _ = await send_request(cluster, "POST", f"{roles}/roles", {"metadata": {"name": "climber"}, "rules": rules})
    assert code == 201
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "climber"}
    subjects = [{"kind": "ServiceAccount", "name": "climber", "namespace": "default"}]
    body = {"metadata": {"name": "climber"}, "roleRef": reference, "subjects": subjects}
    assert (await send_request(cluster, "POST", f"{roles}/rolebindings", body))[0] == 201
    credentials = {"Authorization": f"Bearer {await token_of(cluster, 'climber')}"}
    more = {"metadata": {"name": "all"}, "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]}
    assert (await send_request(cluster, "POST", f"{roles}/roles", more, **credentials))[0] == 403
    admin = reference | {"kind": "ClusterRole", "name": "cluster-admin"}
    bound = {"metadata": {"name": "all"}, "roleRef": admin, "subjects": subjects}
    assert (await send_request(cluster, "POST", f"{roles}/rolebindings", bound, **credentials))[0] == 403
    acting = credentials | {"Impersonate-User": "system:admin", "Impersonate-Group": "system:masters"}
    assert (await send_request(cluster, "GET", "/api/v1/secrets", **acting))[0] == 403


async def test_the_kubelet_rejects_unauthenticated_clients(cluster: ClusterProcess) -> None:
    _, node = await send_request(cluster, "GET", "/api/v1/nodes/traincrew")
    port = node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"]
    blind = ssl.create_default_context()
    blind.check_hostname, blind.verify_mode = False, ssl.CERT_NONE
    paths = ("/pods", "/containerLogs/kubeflow/traincrew-operator/operator", "/exec/kubeflow/traincrew-operator/operator", "/x")
    for token in ("", cluster.token, "wrong"):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=blind), headers=headers) as client:
            for path in paths:
                async with client.get(f"https://127.0.0.1:{port}{path}") as response:
                    assert response.status == 401


def test_the_data_directory_is_private_under_any_umask(cluster: ClusterProcess) -> None:
    for path in (cluster.place.data, *cluster.place.data.rglob("*")):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), f"{path} has mode {mode:o}"


async def test_no_secret_is_in_any_log(cluster: ClusterProcess) -> None:
    encoded = base64.b64encode(SECRET.encode()).decode()
    await create(cluster, "secrets", {"metadata": {"name": "s"}, "data": {"password": encoded}})
    applied = {
        "metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": encoded}},
        "stringData": {"b": SECRET},
    }
    for body in (applied, {"data": {"b": f"not base64 {SECRET}"}}, {"data": [SECRET]}, {SECRET: SECRET}):
        data = json.dumps(body).encode()
        headers = {"Content-Type": "application/merge-patch+json"}
        async with cluster.client() as client, client.patch(f"{CORE}/secrets/s", data=data, headers=headers) as response:
            await response.read()
    token = await token_of(cluster, "default")
    review = {"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1", "spec": {"token": token}}
    assert (await send_request(cluster, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", review))[0] == 201
    await send_request(cluster, "GET", f"/api/v1/pods?access_token={token}", Authorization=f"Bearer {token}")
    await send_request(cluster, "GET", "/api", Authorization=f"Bearer {SECRET}")
    reader, writer = await cluster.connection()
    writer.write(b"GET /%ff HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: \xff\xfe\r\n\r\n")
    writer.write(f"GET / HTTP/1.1\r\nAuthorization: Bearer {SECRET}\r\nbad header\r\n\r\n".encode())
    await reader.read()
    writer.close()
    check_logs(cluster, (SECRET, encoded, token, token.rpartition(".")[2], cluster.token))


def check_logs(cluster: ClusterProcess, secrets: tuple[str, ...]) -> None:
    audit = pathlib.Path(cluster.flags[-1])
    assert audit.stat().st_mode & 0o077 == 0
    for log in (cluster.log(), audit.read_text()):
        assert log
        assert not [secret for secret in secrets if secret in log]

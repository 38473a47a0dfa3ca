"""A metrics server of a real cluster reads what the pods of our node use, with its own account and with its rights alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import requests
import urllib3
from tests.cluster.api import Object, eventually
from tests.node import joined_node as joining
from tests.node.joined_node import JoinedNode
from tests.node.local_cluster import pod

RIGHTS = "/apis/rbac.authorization.k8s.io/v1"


@pytest.fixture(scope="module")
def joined() -> Iterator[JoinedNode]:
    with joining.joined_node() as found:
        yield found


def account(machine: JoinedNode, name: str, subresource: str) -> str:
    """The token of a new account that may read that part of nodes."""
    call = machine.api.call
    call("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": name}})
    rules = [{"apiGroups": [""], "resources": [f"nodes/{subresource}"], "verbs": ["get"]}]
    call("POST", f"{RIGHTS}/clusterroles", {"metadata": {"name": name}, "rules": rules})
    bound = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
    }
    call("POST", f"{RIGHTS}/clusterrolebindings", bound)
    body: Object = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    return str(call("POST", f"/api/v1/namespaces/default/serviceaccounts/{name}/token", body)["status"]["token"])


def read(machine: JoinedNode, token: str, path: str) -> requests.Response:
    status = machine.api.call("GET", f"/api/v1/nodes/{machine.name}")["status"]
    address, port = status["addresses"][0]["address"], status["daemonEndpoints"]["kubeletEndpoint"]["Port"]
    urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return requests.get(f"https://{address}:{port}{path}", headers=headers, verify=False, timeout=30)


def test_a_bearer_with_the_right_reads_and_others_do_not(joined: JoinedNode) -> None:
    joined.create(pod("measured", "sh", "-c", "while :; do :; done", resources={"limits": {"cpu": "200m"}}))
    joined.running("measured")
    reader = account(joined, "metrics-reader", "metrics")

    def measured() -> bool:
        message = read(joined, reader, "/metrics/resource")
        assert message.status_code == 200, message.text
        return 'container_cpu_usage_seconds_total{container="main",namespace="default",pod="measured"}' in message.text

    eventually(measured, 60)
    assert read(joined, reader, "/stats/summary").status_code == 403
    assert read(joined, reader, "/containerLogs/default/measured/main").status_code == 403
    assert read(joined, "no.such.token", "/metrics/resource").status_code == 401
    assert read(joined, "", "/metrics/resource").status_code == 401
    summary = read(joined, account(joined, "stats-reader", "stats"), "/stats/summary").json()
    assert summary["node"]["nodeName"] == joined.name
    assert [each["podRef"]["name"] for each in summary["pods"]] == ["measured"]
    joined.api.delete("pods", "default", "measured")
    joined.gone("measured")

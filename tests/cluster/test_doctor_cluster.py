"""`traincrew doctor --cluster`: one line for each check, and how to fix what is wrong."""

from __future__ import annotations

import datetime as dt
import json
import pathlib
from collections.abc import Iterator

import pytest
from tests.cluster import installed_operators, jobs_with_leader, operators
from tests.cluster.api import Api, Object, eventually
from tests.cluster.installed_operators import GO_LABELS, NAMESPACE, OWN_LABELS, deployment
from tools.kube import cluster

from traincrew.apimachinery import times
from traincrew.validation import crds

LEASE = "1ca428e5.training-operator.kubeflow.org"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices"


def findings(kube: cluster.Cluster) -> dict[str, Object]:
    result = installed_operators.traincrew(kube, "doctor", "--cluster", "-o", "json")
    assert result.stdout, result.stderr
    found = {each["subject"]: each for each in json.loads(result.stdout)}
    assert result.returncode == any(each["grade"] == "fail" for each in found.values())
    return found


@pytest.fixture(scope="module")
def kube() -> Iterator[cluster.Cluster]:
    with cluster.start() as started:
        yield started


def test_on_a_cluster_without_anything_the_checks_name_what_to_install(kube: cluster.Cluster) -> None:
    found = findings(kube)

    assert found["api"]["grade"] == "ok"
    assert "Kubernetes v1." in found["api"]["message"]
    assert found["crds"]["grade"] == "warn"
    assert "traincrew manifests crds | kubectl apply" in found["crds"]["remedy"]
    assert (found["operator"]["grade"], found["operator"]["message"]) == ("warn", "no Deployment of traincrew")
    assert found["dns"]["grade"] == "warn"
    assert "rbac" not in found


@pytest.fixture(scope="module")
def api(kube: cluster.Cluster) -> Iterator[Api]:
    """A healthy installation: the operator runs, and the objects of a Deployment and of a DNS server say so."""
    installed_operators.install(kube)
    client = Api(kube.kubeconfig)
    installed_operators.apply(kube, deployment("traincrew", OWN_LABELS, "operator", "--leader-elect"))
    counts = {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1, "updatedReplicas": 1}
    client.call("PATCH", f"{DEPLOYMENTS}/traincrew/status", {"status": counts}, "application/merge-patch+json")
    client.call("POST", SLICES, dns_slice(True))
    with operators.running(kube.token_kubeconfig(NAMESPACE, "traincrew"), "--leader-elect"):
        eventually(lambda: client.find("leases", NAMESPACE, LEASE))
        yield client


def dns_slice(ready: bool, service: str = "kube-dns", port: str = "dns", **labels: str) -> Object:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": f"{service}-1", "labels": {"kubernetes.io/service-name": service, **labels}},
        "addressType": "IPv4",
        "ports": [{"name": port, "port": 53, "protocol": "UDP"}],
        "endpoints": [{"addresses": ["10.0.0.10"], "conditions": {"ready": ready}}],
    }


def test_a_healthy_installation_passes_every_check(kube: cluster.Cluster, api: Api) -> None:
    found = findings(kube)

    assert {subject: each["grade"] for subject, each in found.items()} == dict.fromkeys(
        ("api", "crds", "operator", "others", "rbac", "scheduler", "clock", "dns"), "ok"
    ), found
    assert found["operator"]["message"] == "kubeflow/traincrew (1/1 ready)"
    assert found["rbac"]["message"].startswith("system:serviceaccount:kubeflow:traincrew has all ")
    assert found["clock"]["message"] == "operator and API server have the same time"


def test_a_go_operator_is_named_with_its_kinds(kube: cluster.Cluster, api: Api) -> None:
    installed_operators.apply(kube, deployment("training-operator", GO_LABELS))
    found = findings(kube)["others"]
    api.call("DELETE", f"{DEPLOYMENTS}/training-operator")

    assert found["grade"] == "fail"
    assert found["message"].startswith("training-operator is running (kubeflow/training-operator): traincrew does not reconcile")
    assert "pytorchjobs" in found["message"]
    assert "traincrew migrate" in found["remedy"]


def test_a_pod_of_a_go_operator_without_a_deployment_is_found(kube: cluster.Cluster, api: Api) -> None:
    container = {"name": "operator", "image": "any"}
    meta = {"name": "training-operator-by-hand", "labels": GO_LABELS}
    api.create("default", {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container]}})
    found = findings(kube)["others"]
    api.delete("pods", "default", "training-operator-by-hand", grace=0)

    assert found["grade"] == "fail"
    assert found["message"].startswith("training-operator is running (pod default/training-operator-by-hand): traincrew does not")


def lease(renewed: dt.datetime) -> Object:
    spec = {"holderIdentity": "elsewhere", "leaseDurationSeconds": 15, "renewTime": times.rfc3339_micro(renewed)}
    meta = {"name": "mpi-operator", "namespace": "default"}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec}


def test_a_go_operator_that_holds_its_lease_is_found(kube: cluster.Cluster, api: Api) -> None:
    now = dt.datetime.now(dt.UTC)
    installed_operators.apply(kube, lease(now - dt.timedelta(days=1)))
    left_behind = findings(kube)["others"]
    installed_operators.apply(kube, lease(dt.datetime.now(dt.UTC) + dt.timedelta(minutes=5)))
    found = findings(kube)["others"]
    api.delete("leases", "default", "mpi-operator")

    assert left_behind["grade"] == "ok", "it was left behind"
    assert found["grade"] == "fail"
    assert found["message"] == "mpi-operator holds the Lease default/mpi-operator: traincrew does not reconcile mpijobs"


def test_statuses_that_a_go_operator_writes_are_found(kube: cluster.Cluster, api: Api) -> None:
    """It runs outside of the cluster."""
    api.create("default", jobs_with_leader.job("PyTorchJob", 1, name="foreign", run={"managedBy": "kueue.x-k8s.io/multikueue"}))
    patch = ("--type=merge", "--field-manager=manager", "-p", '{"status": {"startTime": "2026-01-01T00:00:00Z"}}')
    written = kube.kubectl("-n", "default", "patch", "pytorchjobs.kubeflow.org", "foreign", "--subresource=status", *patch)
    assert written.returncode == 0, written.stderr
    found = findings(kube)["others"]
    installed_operators.apply(kube, deployment("training-operator", GO_LABELS, replicas=0))
    explained = findings(kube)["others"]
    api.call("DELETE", f"{DEPLOYMENTS}/training-operator")
    api.delete("pytorchjobs", "default", "foreign")

    assert found["grade"] == "warn"
    assert "training-operator (field manager 'manager') wrote the status of pytorchjob default/foreign at" in found["message"]
    assert "check again in five minutes" in found["remedy"]
    assert explained["grade"] == "ok", "its Deployment was stopped a moment ago"


def test_a_go_operator_that_waits_for_the_same_lease_is_in_order(kube: cluster.Cluster, api: Api) -> None:
    def finding(*flags: str) -> Object:
        installed_operators.apply(kube, deployment("training-operator", GO_LABELS, *flags))
        return findings(kube)["others"]

    shared = finding("--leader-elect")
    other = finding("--leader-elect", "--leader-election-id=mine")
    api.call("DELETE", f"{DEPLOYMENTS}/training-operator")

    assert shared["grade"] == "ok"
    assert other["grade"] == "fail"


def test_a_gang_scheduler_without_its_crds_is_found(kube: cluster.Cluster, api: Api) -> None:
    flags = ("operator", "--leader-elect", "--gang-scheduler-name=volcano")
    installed_operators.apply(kube, deployment("traincrew", OWN_LABELS, *flags))
    found = findings(kube)["scheduler"]
    installed_operators.apply(kube, deployment("traincrew", OWN_LABELS, "operator", "--leader-elect"))

    assert found["grade"] == "fail"
    assert "the CRD podgroups.scheduling.volcano.sh is not installed" in found["message"]
    assert "Install Volcano, or remove the flag." in found["remedy"]


def scheduler_finding(kube: cluster.Cluster) -> tuple[str, str]:
    """Of an operator with --gang-scheduler-name=gangs."""
    installed_operators.apply(
        kube, deployment("traincrew", OWN_LABELS, "operator", "--leader-elect", "--gang-scheduler-name=gangs")
    )
    try:
        found = findings(kube)["scheduler"]
    finally:
        installed_operators.apply(kube, deployment("traincrew", OWN_LABELS, "operator", "--leader-elect"))
    return found["grade"], found["message"]


def test_a_gang_scheduler_that_does_not_run_is_found(kube: cluster.Cluster, api: Api) -> None:
    definitions = pathlib.Path(__file__).parent / "crds" / "scheduler-plugins.yaml"
    assert kube.kubectl("apply", "-f", str(definitions)).returncode == 0
    grade, message = scheduler_finding(kube)
    assert (grade, message.partition(" was ")[0]) == ("warn", "no scheduler of the name gangs")
    installed_operators.apply(kube, deployment("gangs", {"app": "gangs"}))
    unready = ("fail", "gang scheduler gangs: kubeflow/gangs has no ready replica: no job starts")
    assert scheduler_finding(kube) == unready
    counts = {"replicas": 1, "readyReplicas": 1}
    api.call("PATCH", f"{DEPLOYMENTS}/gangs/status", {"status": counts}, "application/merge-patch+json")
    assert scheduler_finding(kube) == ("ok", "gang scheduler gangs: kubeflow/gangs is ready")
    api.call("DELETE", f"{DEPLOYMENTS}/gangs")
    spec = {"schedulerName": "gangs", "nodeName": "somewhere", "containers": [{"name": "main", "image": "any"}]}
    api.create("default", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bound"}, "spec": spec})
    assert scheduler_finding(kube) == ("ok", "gang scheduler gangs: pods with this schedulerName are on nodes")


def test_missing_permissions_are_named(kube: cluster.Cluster, api: Api) -> None:
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/traincrew"
    role = api.call("GET", path)
    rules = [rule for rule in role["rules"] if "services" not in rule["resources"]]
    api.call("PATCH", path, {"rules": rules}, "application/merge-patch+json")
    try:
        found = eventually(lambda: (each := findings(kube)["rbac"])["grade"] == "fail" and each)
    finally:
        api.call("PATCH", path, {"rules": role["rules"]}, "application/merge-patch+json")

    assert "cannot create pods" in found["message"]
    assert "traincrew manifests rbac" in found["remedy"]


def test_an_old_crd_is_named_with_what_it_lacks(kube: cluster.Cluster, api: Api) -> None:
    name = "jaxjobs.kubeflow.org"
    current = next(each for each in crds.crds() if each["metadata"]["name"] == name)
    old = json.loads(json.dumps(current))
    for version in old["spec"]["versions"]:
        del version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["restarts"]
    installed_operators.apply(kube, old)
    found = findings(kube)["crds"]
    installed_operators.apply(kube, current)

    assert found["grade"] == "fail"
    assert "jaxjobs.kubeflow.org has no status.restarts" in found["message"]


def test_a_dns_server_without_ready_endpoints_is_found(kube: cluster.Cluster, api: Api) -> None:
    api.call("PUT", f"{SLICES}/kube-dns-1", dns_slice(False))
    found = findings(kube)["dns"]
    api.call("PUT", f"{SLICES}/kube-dns-1", dns_slice(True))

    assert found["grade"] == "fail"
    assert "has no ready endpoint" in found["message"]


def test_coredns_is_found_under_the_name_that_a_distribution_gives_it(kube: cluster.Cluster, api: Api) -> None:
    labels = {"k8s-app": "kube-dns"}
    api.call("DELETE", f"{SLICES}/kube-dns-1")
    try:
        missing = findings(kube)["dns"]
        api.call("POST", SLICES, dns_slice(True, "rke2-coredns-metrics", "tcp-metrics", **labels))
        api.call("POST", SLICES, dns_slice(False, "rke2-coredns", "udp-53", **labels))
        unready = findings(kube)["dns"]
        api.call("PUT", f"{SLICES}/rke2-coredns-1", dns_slice(True, "rke2-coredns", "udp-53", **labels))
        found = findings(kube)["dns"]
    finally:
        api.call("POST", SLICES, dns_slice(True))

    assert (missing["grade"], missing["message"]) == ("warn", "no Service of a DNS server was found")
    assert (
        "kubectl run dns-check --rm -i --restart=Never --image=busybox:1.36 -- nslookup kubernetes.default" in missing["remedy"]
    )
    assert (unready["grade"], unready["message"]) == ("fail", "the Service kube-system/rke2-coredns has no ready endpoint")
    assert (found["grade"], found["message"]) == ("ok", "the Service kube-system/rke2-coredns has 1 ready endpoint")


def test_a_user_without_rights_learns_whom_to_ask(kube: cluster.Cluster, api: Api) -> None:
    config = kube.user_kubeconfig("nobody", "system:authenticated")
    stranger = cluster.Cluster(pathlib.Path(config), None)
    found = findings(stranger)

    assert found["operator"]["grade"] == "warn"
    assert "Ask an administrator" in found["operator"]["remedy"]


def test_an_api_server_that_does_not_answer_is_one_line(tmp_path: pathlib.Path) -> None:
    config = tmp_path / "config"
    server = f"http://127.0.0.1:{operators.free_port()}"
    context = {"name": "c", "context": {"cluster": "c", "user": ""}}
    clusters = [{"name": "c", "cluster": {"server": server}}]
    config.write_text(json.dumps({"current-context": "c", "contexts": [context], "clusters": clusters}))
    found = findings(cluster.Cluster(config, None))

    assert list(found) == ["api"]
    assert found["api"]["grade"] == "fail"

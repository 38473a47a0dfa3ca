"""The rights of the operator: on a real API server, jobs of every kind need each of them and no other."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.cluster import audit, lifecycle, manifests, operators, watch_cache
from tests.cluster.api import KINDS, Api, eventually
from tests.cluster.fake_kubelet import FakeKubelet, now
from tests.cluster.lifecycle import KindVersion
from tests.install.helm import CHART, IMAGE, ROOT, Helm, permissions
from tools.kube import cluster

PLACES = ("team-a", "team-b")
LEASE = ("coordination.k8s.io", "leases")
CREATED = (
    "pods", "services", "configmaps", "serviceaccounts", "roles", "rolebindings", "jobs", "horizontalpodautoscalers",
)  # fmt: skip
METRICS = [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}]
UNUSED = {
    ("create", "", "pods/exec"): "granted to launchers of MPIJobs, and RBAC lets nobody grant what he has not",
    ("get", "batch", "jobs"): "for a launcher that exists already when it is to be created, such as one of mpi-operator",
    ("update", "kubeflow.org", "/finalizers"): "for the admission plugin OwnerReferencesPermissionEnforcement, which is off here",
}
"""Verb, group and end of the resource of rights without a request → why they are needed."""


@pytest.fixture(scope="module")
def kube() -> Iterator[cluster.OwnCluster]:
    with cluster.start() as started:
        for name in ("volcano", "scheduler-plugins"):
            applied = started.kubectl("apply", "-f", str(ROOT / "tests" / "cluster" / "crds" / f"{name}.yaml"))
            assert applied.returncode == 0, applied.stderr
        yield started


@pytest.fixture(scope="module")
def installed(kube: cluster.OwnCluster, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    for place in PLACES:
        assert kube.kubectl("create", "namespace", place).returncode == 0
    helm = Helm(tmp_path_factory.mktemp("helm"), kube.kubeconfig)
    helm.succeed("install", "traincrew", CHART, IMAGE, "--set=gangScheduler=volcano")
    return helm


def granted(kube: cluster.Cluster, *names: tuple[str, str]) -> set[audit.Permission]:
    api = Api(kube.kubeconfig)
    roles = []
    for namespace, name in names:
        place = f"/namespaces/{namespace}/roles" if namespace else "/clusterroles"
        roles.append(api.call("GET", f"/apis/rbac.authorization.k8s.io/v1{place}/{name}"))
    return permissions(*roles)


def restores_labels(api: Api, namespace: str, job: str) -> None:
    """The operator labels an object of the job that has no labels, as those of a Go operator: it reads and patches it."""
    for plural in CREATED:
        for found in api.all(plural, namespace):
            name, labels = found["metadata"]["name"], found["metadata"].get("labels") or {}
            owner = (found["metadata"].get("ownerReferences") or [{}])[0]
            if not labels or owner.get("kind") not in KINDS or owner["name"] != job or found["metadata"].get("deletionTimestamp"):
                continue
            api.patch(plural, namespace, name, {"metadata": {"labels": dict.fromkeys(labels)}})
            again = functools.partial(_labels, api, plural, namespace, name)
            eventually(again, 60, because=f"{plural} {name} of {owner['kind']} was not labelled")


def _labels(api: Api, plural: str, namespace: str, name: str) -> object:
    return api.get(plural, namespace, name)["metadata"].get("labels")


def runs(kube: cluster.Cluster, cache: watch_cache.WatchCache, kind: KindVersion) -> None:
    """A whole lifecycle, and then a job that is suspended, resumed and removed after its deadline."""
    driver = lifecycle.LifecycleDriver(Api(kube.kubeconfig), cache)
    driver.run(kind)
    api, namespace, plural = driver.api, driver.namespace, KINDS[kind.kind]
    job = kind.job()
    job["metadata"]["name"] = "k"
    job["spec"]["runPolicy"] = {"suspend": False, "ttlSecondsAfterFinished": 0, "activeDeadlineSeconds": 3600}
    api.create(namespace, job)
    eventually(lambda: api.find("pods", namespace, "k-worker-0"))
    if kind.launched:
        driver.kubelet.run("k-worker-0")
        eventually(lambda: api.find("jobs", namespace, "k-launcher"))
        # Written by the Job controller; a Job that is resumed must not have it.
        api.patch("jobs", namespace, "k-launcher", {"status": {"startTime": now()}}, "status")
    restores_labels(api, namespace, "k")
    for suspended in (True, False):
        api.patch(plural, namespace, "k", {"spec": {"runPolicy": {"suspend": suspended}}}, version=kind.version)
        eventually(functools.partial(_suspended, api, plural, namespace, suspended))
    eventually(lambda: api.find("pods", namespace, "k-worker-0"))
    if kind.launched:
        return  # the deadline and the TTL are those of the batch Job, whose controller does not run here
    api.patch(plural, namespace, "k", {"spec": {"runPolicy": {"activeDeadlineSeconds": 1}}}, version=kind.version)
    eventually(lambda: api.find(plural, namespace, "k") is None, because=f"{kind} was not removed by its TTL")


def _suspended(api: Api, plural: str, namespace: str, expected: bool) -> bool:
    conditions = api.get(plural, namespace, "k").get("status", {}).get("conditions") or []
    return expected is any(each["type"] == "Suspended" and each["status"] == "True" for each in conditions)


def runs_an_autoscaled_job(api: Api, namespace: str) -> None:
    policy = {"minReplicas": 1, "maxReplicas": 4, "metrics": METRICS}
    api.create(namespace, manifests.job("PyTorchJob", "scaled", Worker=1, spec={"elasticPolicy": policy}))
    eventually(lambda: api.find("horizontalpodautoscalers", namespace, "scaled"))
    restores_labels(api, namespace, "scaled")
    api.patch("pytorchjobs", namespace, "scaled", {"spec": {"runPolicy": {"suspend": True}}})
    eventually(lambda: api.find("horizontalpodautoscalers", namespace, "scaled") is None)


def runs_a_gang(api: Api, namespace: str, version: str) -> None:
    api.create(namespace, manifests.job("PyTorchJob", "gang", Master=1))
    found = eventually(lambda: api.find("podgroups", namespace, "gang", version))
    labels = dict.fromkeys(found["metadata"]["labels"])
    api.patch("podgroups", namespace, "gang", {"metadata": {"labels": labels}}, version=version)
    eventually(lambda: api.get("podgroups", namespace, "gang", version=version)["metadata"].get("labels"))
    api.patch("pytorchjobs", namespace, "gang", {"spec": {"runPolicy": {"suspend": True}}})
    eventually(lambda: api.find("podgroups", namespace, "gang", version) is None)


def justified(permission: audit.Permission) -> bool:
    verb, group, resource, _ = permission
    return any((verb, group) == reason[:2] and resource.endswith(reason[2]) for reason in UNUSED)


def test_jobs_of_every_kind_need_exactly_the_rights_of_the_cluster_role(kube: cluster.OwnCluster, installed: Helm) -> None:
    account = kube.token_kubeconfig("kubeflow", "traincrew")
    with operators.running(account, "--leader-elect"), watch_cache.watching(kube.kubeconfig, *lifecycle.WATCHED) as cache:
        with ThreadPoolExecutor(len(lifecycle.ALL_KINDS)) as threads:
            for done in [threads.submit(runs, kube, cache, kind) for kind in lifecycle.ALL_KINDS]:
                done.result()
        runs_an_autoscaled_job(Api(kube.kubeconfig), "team-a")
    with operators.running(account, "--gang-scheduler-name=volcano"):
        runs_a_gang(Api(kube.kubeconfig), "team-b", "scheduling.volcano.sh/v1beta1")

    entries = audit.requests(kube, "kubeflow:traincrew")
    assert audit.forbidden(entries) == []
    rights = granted(kube, ("", "traincrew"), ("kubeflow", "traincrew"))
    unused = sorted(each for each in rights - audit.used(entries, rights) if not justified(each))
    assert not unused, f"rights that nothing has used: {unused}"


@contextlib.contextmanager
def watching_two_namespaces(kube: cluster.OwnCluster, helm: Helm) -> Iterator[FakeKubelet]:
    flags = ("--set=watchNamespaces={team-a,team-b}", "--set=gangScheduler=")
    helm.succeed("upgrade", "traincrew", CHART, "--reset-then-reuse-values", *flags)
    account = kube.token_kubeconfig("kubeflow", "traincrew")
    names = [f"--namespace={place}" for place in PLACES]
    with operators.running(account, "--leader-elect", *names):
        yield FakeKubelet(Api(kube.kubeconfig), PLACES[0])


def test_an_operator_with_roles_in_two_namespaces_needs_no_right_in_another(kube: cluster.OwnCluster, installed: Helm) -> None:
    before = len(audit.requests(kube, "kubeflow:traincrew"))
    api = Api(kube.kubeconfig)
    for _ in range(2):  # the second operator looks for the events that the first one has recorded
        with watching_two_namespaces(kube, installed):
            for place in PLACES:
                if not api.find("jaxjobs", place, "both"):
                    api.create(place, manifests.job("JAXJob", "both", Worker=1))
                kubelet = FakeKubelet(api, place)
                kubelet.run("both-worker-0")
    entries = audit.requests(kube, "kubeflow:traincrew")[before:]
    assert audit.forbidden(entries) == []
    assert not [entry for entry in entries if _across_namespaces(entry)]

    def may(*question: str) -> bool:
        asked = kube.kubectl("auth", "can-i", *question, "--as=system:serviceaccount:kubeflow:traincrew")
        return asked.stdout.strip() == "yes"

    own = {(verb, "", "pods", "") for verb in ("list", "watch")} | {(verb, *LEASE, "") for verb in ("create", "get", "update")}
    own |= {(verb, *LEASE, "mpi-operator") for verb in ("list", "watch")}
    assert granted(kube, ("kubeflow", "traincrew")) == own, "it sees a Go operator in its own namespace, and no more"
    assert may("create", "pods", "-n", "team-a")
    assert not may("create", "pods", "-n", "kubeflow")
    assert not may("create", "pods", "-n", "default")
    assert not may("list", "pytorchjobs.kubeflow.org", "--all-namespaces")


def _across_namespaces(entry: dict[str, object]) -> bool:
    reference = entry.get("objectRef")
    if not isinstance(reference, dict) or reference.get("resource") == "selfsubjectaccessreviews":
        return False  # everybody may ask for his own rights
    return not reference.get("namespace")

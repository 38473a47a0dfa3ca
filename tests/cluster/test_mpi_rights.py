"""MPIJob v1: the service account and permissions of the launcher, and dependents that others own, delete or change."""

from __future__ import annotations

import subprocess

import pytest
from tests.cluster import mpi
from tests.cluster.api import Api, Object, consistently, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.submitted_job import Submit
from tools.kube import cluster

READ_PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}
NAMES = {"configmaps": "j-config", "roles": "j-launcher", "rolebindings": "j-launcher", "serviceaccounts": "j-launcher"}


@pytest.mark.checklist(115, 116)
def test_the_launcher_may_read_pods_and_exec_into_its_workers_only(submit: Submit, api: Api, namespace: str) -> None:
    job = submit(mpi.job(2))
    role, binding, account = (mpi.there(api, p, namespace, "j-launcher") for p in ("roles", "rolebindings", "serviceaccounts"))
    assert role["rules"] == [
        READ_PODS,
        {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["create"], "resourceNames": ["j-worker-0", "j-worker-1"]},
    ]
    assert binding["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "j-launcher"}
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "j-launcher", "namespace": namespace}]
    for entry in (role, binding, account):
        assert mpi.owned_by(entry, job)
        assert entry["metadata"]["labels"]["app"] == "j"


@pytest.mark.checklist(115, 116)
@pytest.mark.parametrize(("workers", "allowed"), [(1, "yes"), (0, "no")])
def test_the_api_server_grants_the_launcher_what_its_role_says(
    submit: Submit, kubelet: FakeKubelet, kube: cluster.Cluster, namespace: str, workers: int, allowed: str
) -> None:
    submit(mpi.job(workers))
    kubelet.pod("j-launcher")

    def may(what: str) -> str:
        user = f"--as=system:serviceaccount:{namespace}:j-launcher"
        answer: subprocess.CompletedProcess[str] = kube.kubectl("auth", "can-i", *what.split(), "-n", namespace, user)
        return answer.stdout.strip()

    eventually(lambda: may("list pods") == "yes")  # the authorizer learns of a new role by a watch of its own
    eventually(lambda: may("create pods/j-worker-0 --subresource=exec") == allowed)
    # With no workers a rule without names would allow exec into every pod of the namespace.
    assert may("create pods/another --subresource=exec") == "no"
    assert may("delete pods") == "no"


@pytest.mark.checklist(115, 127)
def test_without_workers_the_role_has_no_rule_for_exec(submit: Submit, api: Api, namespace: str) -> None:
    submit(mpi.job(None))
    assert mpi.there(api, "roles", namespace, "j-launcher")["rules"] == [READ_PODS]


@pytest.mark.checklist(117)
def test_a_named_service_account_is_created_if_missing_and_outlives_the_job(
    submit: Submit, api: Api, kubelet: FakeKubelet, namespace: str
) -> None:
    body = mpi.job(1)
    mpi.template(body, "Launcher")["serviceAccountName"] = "s"
    submit(body)
    assert kubelet.pod("j-launcher")["spec"]["serviceAccountName"] == "s"
    binding = api.get("rolebindings", namespace, "j-launcher")
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "s", "namespace": namespace}]
    # Others may use it by now: it must not go with this job.
    assert "ownerReferences" not in api.get("serviceaccounts", namespace, "s")["metadata"]
    assert api.find("serviceaccounts", namespace, "j-launcher") is None


@pytest.mark.checklist(117)
@pytest.mark.parametrize("name", ["s", "j-launcher"])
def test_an_existing_service_account_is_used_as_it_is_and_asked_for_once(
    submit: Submit, kubelet: FakeKubelet, kube: cluster.Cluster, namespace: str, name: str
) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "labels": {"whose": "mine"}}}
    before = kubelet.api.create(namespace, account)
    since = kube.audit_size()
    body = mpi.job(1)
    if name == "s":
        mpi.template(body, "Launcher")["serviceAccountName"] = name
    job = submit(body)
    kubelet.run("j-launcher", "j-worker-0")
    job.becomes("Running")
    assert kubelet.pod("j-launcher")["spec"]["serviceAccountName"] == name
    assert kubelet.api.get("serviceaccounts", namespace, name)["metadata"] == before["metadata"]
    consistently(lambda: creates(kube, since, namespace, "serviceaccounts") == 1, 0.5)


def creates(kube: cluster.Cluster, since: int, namespace: str, plural: str) -> int:
    wanted = {"resource": plural, "namespace": namespace}
    entries = [entry for entry in kube.audit(since) if entry["verb"] == "create"]
    return sum(wanted.items() <= entry.get("objectRef", {}).items() for entry in entries)


def test_an_account_left_by_an_earlier_job_of_the_name_is_waited_out(
    submit: Submit, api: Api, kubelet: FakeKubelet, namespace: str
) -> None:
    """The garbage collector will take it: a launcher that used it would lose its rights."""
    owner = {"apiVersion": "kubeflow.org/v1", "kind": "MPIJob", "name": "j", "uid": "3f6f0a34", "controller": True}
    metadata = {"name": "j-launcher", "ownerReferences": [owner]}
    left = api.create(namespace, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    submit(mpi.job(0))
    consistently(lambda: api.find("pods", namespace, "j-launcher") is None, 1.0)
    api.delete("serviceaccounts", namespace, "j-launcher")
    kubelet.pod("j-launcher")
    assert api.get("serviceaccounts", namespace, "j-launcher")["metadata"]["uid"] != left["metadata"]["uid"]


@pytest.mark.checklist(137)
def test_a_foreign_config_map_is_reported_and_keeps_the_launcher_away(submit: Submit, api: Api, namespace: str) -> None:
    foreign = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "j-config"}, "data": {"mine": "yes"}}
    before = api.create(namespace, foreign)
    job = submit(mpi.job(2))
    event = job.event("ErrResourceExists", 'Resource "j-config" of Kind "ConfigMap" already exists and is not managed by MPIJob')
    assert event["type"] == "Warning"
    consistently(lambda: api.names("pods", namespace) == set())
    assert api.get("configmaps", namespace, "j-config") == before
    assert (job.why["reason"], "j-config" in job.why["message"]) == ("NameTaken", True)


RBAC = "rbac.authorization.k8s.io"
FOREIGN: dict[str, Object] = {
    "Role": {"apiVersion": f"{RBAC}/v1", "metadata": {"name": "j-launcher"}, "rules": []},
    "RoleBinding": {
        "apiVersion": f"{RBAC}/v1",
        "metadata": {"name": "j-launcher"},
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "other"},
    },
    "launcher Pod": {"apiVersion": "v1", "metadata": {"name": "j-launcher"}},
    "worker Pod": {"apiVersion": "v1", "metadata": {"name": "j-worker-0"}},
}


@pytest.mark.parametrize("what", FOREIGN)
def test_every_foreign_object_is_reported_in_the_words_of_the_go_operator(
    submit: Submit, api: Api, namespace: str, what: str
) -> None:
    kind, name = what.rpartition(" ")[2], FOREIGN[what]["metadata"]["name"]
    spec = {"spec": {"containers": [{"name": "c", "image": "i"}]}} if kind == "Pod" else {}
    api.create(namespace, {**FOREIGN[what], "kind": kind, **spec})
    job = submit(mpi.job(1))
    event = job.event("ErrResourceExists")
    assert event["type"] == "Warning"
    assert event["message"] == f'Resource "{name}" of Kind "{kind}" already exists and is not managed by MPIJob'
    eventually(lambda: job.why.get("reason") == "NameTaken")
    assert name in job.why["message"]
    assert job.events("FailedCreatePod") == []


@pytest.mark.checklist(137)
def test_a_job_goes_on_when_the_foreign_config_map_is_gone(submit: Submit, api: Api, namespace: str) -> None:
    api.create(namespace, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "j-config"}})
    job = submit(mpi.job(1))
    eventually(lambda: job.why["reason"] == "NameTaken")
    api.delete("configmaps", namespace, "j-config")
    eventually(lambda: api.names("pods", namespace) == {"j-launcher", "j-worker-0"})
    eventually(lambda: job.why == {})
    assert len(job.events("ErrResourceExists")) == 1


@pytest.mark.parametrize("plural", NAMES)
def test_a_deleted_dependent_is_recreated(submit: Submit, api: Api, kubelet: FakeKubelet, namespace: str, plural: str) -> None:
    submit(mpi.job(1))
    kubelet.pod("j-launcher")
    before = api.get(plural, namespace, NAMES[plural])
    api.delete(plural, namespace, NAMES[plural])
    after = mpi.there(api, plural, namespace, NAMES[plural])
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert content(after) == content(before)


@pytest.mark.parametrize(("plural", "damage"), [("configmaps", {"data": {"hostfile": ""}}), ("roles", {"rules": None})])
def test_a_changed_dependent_is_restored(
    submit: Submit, api: Api, kubelet: FakeKubelet, namespace: str, plural: str, damage: Object
) -> None:
    submit(mpi.job(1))
    kubelet.pod("j-launcher")
    before = api.get(plural, namespace, NAMES[plural])
    assert content(api.patch(plural, namespace, NAMES[plural], damage)) != content(before)
    eventually(lambda: content(api.get(plural, namespace, NAMES[plural])) == content(before))


def content(entry: Object) -> Object:
    return {key: value for key, value in entry.items() if key != "metadata"}

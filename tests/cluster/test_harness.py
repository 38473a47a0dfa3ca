"""The cluster that the other tests of this directory use."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import kubernetes.client
import pytest
from tests.cluster import audit
from tests.cluster.isolated_namespace import IsolatedNamespace
from tools.kube import build, cluster, control_plane

TIMEOUT_SECONDS = 30
ORPHAN_MAKER = """
import sys
from tools.kube import cluster
kube = cluster.start()
print(kube.plane.directory, kube.pid("etcd"), kube.pid("kube-apiserver"), flush=True)
sys.stdin.read()
"""


def test_the_api_server_is_the_chosen_version(kube: cluster.Cluster) -> None:
    if not isinstance(kube, cluster.OwnCluster):
        raise cluster.NotOurs("the version is the cluster's own affair")
    answer = kube.kubectl("get", "--raw", "/version")
    assert f'"gitVersion": "{build.kubernetes_version()}"' in answer.stdout


# The API server of `isolated` has no operator. Until a restarted one has read the RBAC objects, it answers 403 to everybody but
# administrators, and the operator of the other one must not get a 403.
def test_objects_outlive_a_killed_api_server(isolated: IsolatedNamespace) -> None:
    isolated.api.create(isolated.namespace, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}})
    isolated.kube.restart_apiserver()
    names = isolated.kube.kubectl("get", "configmaps", f"--namespace={isolated.namespace}", "--output=name").stdout.split()
    assert names == ["configmap/kept"]


def test_a_service_accounts_kubeconfig_may_do_only_what_its_role_says(kube: cluster.Cluster, namespace: str) -> None:
    for command in (
        "create serviceaccount reader",
        "create role reader --verb=get,list --resource=pods",
        f"create rolebinding reader --role=reader --serviceaccount={namespace}:reader",
    ):
        assert kube.kubectl(*command.split(), f"--namespace={namespace}").returncode == 0
    as_reader = f"--kubeconfig={kube.token_kubeconfig(namespace, 'reader')}"

    allowed = kube.kubectl(as_reader, "get", "pods", f"--namespace={namespace}")
    refused = kube.kubectl(as_reader, "get", "secrets", f"--namespace={namespace}")

    assert (allowed.returncode, allowed.stderr.split()[:2]) == (0, ["No", "resources"])
    assert refused.returncode == 1
    assert f"system:serviceaccount:{namespace}:reader" in refused.stderr


def test_the_audit_log_reports_each_request_once(
    kube: cluster.Cluster, namespace: str, core_api: kubernetes.client.CoreV1Api
) -> None:
    before = kube.audit_size()
    core_api.create_namespaced_config_map(namespace, _config_map("counted"))
    entries = [
        (entry["verb"], audit.username(entry), entry["objectRef"]["name"])
        for entry in kube.audit(since=before)
        if entry["objectRef"].get("namespace") == namespace and entry["objectRef"]["resource"] == "configmaps"
    ]
    assert entries == [("create", kube.administrator, "counted")]


@pytest.mark.parametrize("entry", [{}, {"user": {}}, {"user": {"groups": ["system:unauthenticated"]}}])
def test_an_entry_of_the_audit_log_may_have_no_username(entry: dict[str, object]) -> None:
    assert audit.username(entry) == ""


def test_two_clusters_live_beside_each_other_and_end_without_a_trace(kube: cluster.Cluster) -> None:
    with cluster.start() as second:
        assert second.kubectl("create", "namespace", "only-here").returncode == 0
        assert "only-here" not in kube.kubectl("get", "namespaces", "--output=name").stdout
        directory = second.plane.directory
        pids = [second.pid("etcd"), second.pid("kube-apiserver")]
    assert not directory.exists()
    assert not any(map(_runs, pids))


def test_the_servers_of_a_killed_run_die_with_it_and_the_next_run_removes_its_files() -> None:
    root = Path(build.__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", ORPHAN_MAKER], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        directory, *pids = run.stdout.readline().split()
        watched = [os.pidfd_open(int(pid)) for pid in pids]
        run.send_signal(signal.SIGKILL)
    ended = [select.select([server], [], [], TIMEOUT_SECONDS)[0] == [server] for server in watched]
    assert ended == [True, True]
    with cluster.start():
        assert not Path(directory).exists()


def test_a_failed_start_shows_the_servers_last_log_lines() -> None:
    with pytest.raises(control_plane.StartFailed, match="unknown flag: --no-such-flag"):
        cluster.start(control_plane.Options(flags=("--no-such-flag",)))


def test_the_controller_manager_creates_a_jobs_pod_and_the_scheduler_looks_at_it() -> None:
    # A cluster of its own: a garbage collector would change the world of the other tests.
    with cluster.start() as kube:
        kube.start_controller_manager()
        kube.start_scheduler()
        for command in (
            "create job echo --image=none",
            "wait job/echo --for=jsonpath={.status.active}=1 --timeout=60s",
            "wait pod --selector=job-name=echo --for=condition=PodScheduled=false --timeout=60s",
        ):
            assert kube.kubectl(*command.split()).returncode == 0, command


def _config_map(name: str) -> kubernetes.client.V1ConfigMap:
    return kubernetes.client.V1ConfigMap(metadata=kubernetes.client.V1ObjectMeta(name=name))


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True

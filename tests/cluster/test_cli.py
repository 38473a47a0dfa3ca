"""The CLI verbs on a real kube-apiserver, by KUBECONFIG. The node is a fake; logs and commands are real processes."""

from __future__ import annotations

import os
import pathlib
import ssl
from collections.abc import AsyncIterator, Iterator

import pytest
from tests.cli import cluster_fixture
from tests.cli.cluster_fixture import JobCluster, write_manifests
from tests.cluster import installation, manifests, operators
from tests.cluster.api import Api
from tools.kube import certificates, cluster, control_plane

from traincrew.embedded.kubelet.server import server


class Real(cluster_fixture.Cluster):
    def __init__(self, kube: cluster.Cluster, authority: certificates.Authority) -> None:
        self.kube, self.authority = kube, authority

    @property
    def api(self) -> Api:
        return Api(self.kube.kubeconfig)

    def environment(self) -> dict[str, str]:
        return {"KUBECONFIG": os.fspath(self.kube.kubeconfig)}

    def context(self, directory: pathlib.Path) -> ssl.SSLContext:
        certificate, key = self.authority.server("kubelet")
        return server.tls(str(certificate), str(key), str(self.authority.path))


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    """An API server of its own: it must know the kubelet's authority, and show a certificate of it."""
    authority = certificates.Authority(tmp_path_factory.mktemp("authority"))
    certificate, key = authority.client("kube-apiserver-kubelet-client")
    flags = (
        f"--kubelet-client-certificate={certificate}",
        f"--kubelet-client-key={key}",
        f"--kubelet-certificate-authority={authority.path}",
    )
    with cluster.start_bootstrapped(control_plane.Options(flags=flags)) as started:
        installation.crds(started)
        with operators.running(installation.rights(started)):
            yield Real(started, authority)


@pytest.fixture
async def job_cluster(real: Real, tmp_path: pathlib.Path) -> AsyncIterator[JobCluster]:
    async with cluster_fixture.job_cluster(real, tmp_path) as found:
        yield found


async def test_a_job_is_run_to_its_outcome_with_its_logs(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    job = manifests.job("PyTorchJob", Master=manifests.replicas("PyTorchJob", 1, "OnFailure"), Worker=1)
    running = await job_cluster.start("run", write_manifests(tmp_path, job))
    await job_cluster.run("j-master-0", "j-worker-0")
    await job_cluster.write_log("j-worker-0", "hello")
    assert await running.line() == "[worker-0] hello\n"
    await job_cluster.write_log("j-master-0", "first run")
    assert await running.line() == "[master-0] first run\n"
    await job_cluster.write_log("j-master-0", "its end")
    await job_cluster.restart("j-master-0")
    assert await running.line() == "[master-0] its end\n"
    await job_cluster.write_log("j-master-0", "second run")
    await job_cluster.succeed("j-worker-0", "j-master-0")
    code, out, err = await running.end()
    assert (code, out) == (0, "[master-0] second run\n")
    assert "pytorchjob/j succeeded" in err
    assert "traincrew down" not in err  # that is no cluster of this machine


async def test_verbs_and_files_work_as_on_one_machine(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"a": "1"}}
    path = write_manifests(tmp_path, config, manifests.job("PyTorchJob", Master=1, Worker=1))
    assert (await job_cluster("run", "--detach", path))[0] == 0
    assert "pytorchjob/j already exists" in (await job_cluster("run", path))[2]
    await job_cluster.run("j-master-0", "j-worker-0")
    assert "--force" in (await job_cluster("scale", "j", "2"))[2]
    assert (await job_cluster("scale", "j", "2", "--force"))[:2] == (
        0,
        "pytorchjob/j scaled from 1 to 2 workers (plus 1 Master)\n",
    )
    await job_cluster.write_log("j-master-0", "one", "two")
    assert (await job_cluster("logs", "j", "--replica", "master", "--tail", "1"))[:2] == (0, "two\n")
    assert "j-worker-1" in (await job_cluster("describe", "j"))[1]
    await job_cluster.do(job_cluster.kubelet.pod, "j-worker-1")
    assert "worker-1: waiting to be scheduled" in (await job_cluster("why", "j"))[1]
    assert (await job_cluster("ls"))[1].splitlines()[1].split()[:2] == ["PyTorchJob", "j"]
    assert (await job_cluster("suspend", "j"))[0] == 0
    assert (await job_cluster("resume", "j"))[0] == 0
    assert (await job_cluster("delete", "j"))[0] == 0


async def test_commands_run_in_replicas(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    await job_cluster("run", "--detach", write_manifests(tmp_path, manifests.job("PyTorchJob", Master=1)))
    await job_cluster.run("j-master-0")
    assert await job_cluster("exec", "j", "--", "sh", "-c", "echo out; echo err >&2; exit 3") == (3, "out\n", "err\n")
    assert await job_cluster("exec", "j", "-i", "--", "cat", input=b"x" * 1_000_000) == (0, "x" * 1_000_000, "")
    code, _, err = await job_cluster("exec", "j", "--", "no-such-program")
    assert (code, "no-such-program: not found in container pytorch of pod j-master-0" in err) == (127, True)


async def test_what_the_api_server_rejects_is_reported_and_leaves_nothing(
    job_cluster: JobCluster, tmp_path: pathlib.Path
) -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "Bad_Name"}, "spec": {"ports": [{"port": 0}]}}
    code, _, err = await job_cluster("run", write_manifests(tmp_path, config, service))
    assert code == 2
    assert "spec.ports[0].port" in err
    assert await job_cluster.do(job_cluster.api.find, "configmaps", job_cluster.namespace, "m") is None

"""`traincrew ls -w` and `traincrew top`, on terminals and without."""

from __future__ import annotations

import asyncio
import json
import pathlib
import signal

import pytest
import yaml
from tests.cli.cluster_fixture import TIMEOUT_SECONDS, JobCluster, write_manifests
from tests.cli.test_interrupts import typed, until
from tests.cluster import manifests

GPUS = {"limits": {"nvidia.com/gpu": "2"}}
JOB = manifests.job("PyTorchJob", Master=manifests.replicas("PyTorchJob", 1, resources=GPUS))


@pytest.fixture
async def running_job(job_cluster: JobCluster, tmp_path: pathlib.Path) -> JobCluster:
    await job_cluster("run", "--detach", write_manifests(tmp_path, JOB))
    await job_cluster.run("j-master-0")
    await job_cluster.until(lambda: "Running" in str((job_cluster.job() or {})["status"]["conditions"]))
    return job_cluster


async def test_each_change_is_a_line_without_a_terminal(running_job: JobCluster) -> None:
    running = await running_job.start("ls", "-w")
    assert (await running.line()).split()[:3] == ["KIND", "NAME", "STATE"]
    assert (await running.line()).split()[:4] == ["PyTorchJob", "j", "Running", "1/1"]
    await running_job.succeed("j-master-0")
    while "Succeeded" not in (line := await running.line()):
        assert line.startswith("PyTorchJob")
    running.process.send_signal(signal.SIGINT)
    code, rest, _ = await running.end()
    assert (code, rest) == (0, "")


async def test_without_a_terminal_the_columns_stay_where_they_are(running_job: JobCluster, tmp_path: pathlib.Path) -> None:
    """Also for states and jobs that are longer than those of the first lines."""
    running = await running_job.start("ls", "-w")
    head = await running.line()
    lines = [await running.line()]
    await running_job("run", "--detach", write_manifests(tmp_path, manifests.job("XGBoostJob", "another-and-longer", Master=1)))
    await running_job.succeed("j-master-0")
    while not {"another-and-longer", "Succeeded"} <= set(" ".join(lines).split()):
        lines.append(await running.line())
    running.process.send_signal(signal.SIGINT)
    await running.end()
    for name in head.split()[1:-1]:  # the reasons are not aligned: they come last
        column = head.index(name)
        assert all(line[column - 1] == " " != line[column] for line in lines), (name, head, lines)


async def test_without_a_terminal_the_jobs_come_in_the_order_of_their_creation(
    job_cluster: JobCluster, tmp_path: pathlib.Path
) -> None:
    """Not in that of their kinds, in which TFJob comes first."""
    hidden = manifests.job("JAXJob", "hidden", Worker=1)
    for job in (manifests.job("PyTorchJob", "first", Master=1), hidden, manifests.job("TFJob", "second", Worker=1)):
        await job_cluster("run", "--detach", write_manifests(tmp_path, job, name=f"{job['metadata']['name']}.yaml"))
        await asyncio.sleep(1.1)  # creation times have a resolution of one second
    running = await job_cluster.start("ls", "-w", "first", "second")
    assert [(await running.line()).split()[1] for _ in range(3)] == ["NAME", "first", "second"]
    running.process.send_signal(signal.SIGINT)
    assert (await running.end())[0] == 0


async def test_changed_jobs_are_documents_for_programs(running_job: JobCluster) -> None:
    running = await running_job.start("ls", "-w", "-o", "json")
    assert json.loads(await running.line())["metadata"]["name"] == "j"
    await running_job("suspend", "j")
    while not json.loads(await running.line())["spec"]["runPolicy"].get("suspend"):
        pass
    running.process.send_signal(signal.SIGTERM)
    assert (await running.end())[0] == 0


@pytest.mark.parametrize("command", [["ls", "-w"], ["top", "--interval", "0.2"]], ids=" ".join)
async def test_a_terminal_shows_the_current_state_until_q(running_job: JobCluster, command: list[str]) -> None:
    running = await running_job.in_terminal(*command)
    assert "\x1b[?1049h" in await until(running, "\x1b[36mRunning")
    await running_job("suspend", "j")
    await until(running, "\x1b[33mSuspended")
    await typed(running, "q")
    assert "\x1b[?1049l" in await until(running, "\x1b[?1049l")  # the screen is restored
    assert await asyncio.wait_for(running.wait(), TIMEOUT_SECONDS) == 0
    running.close()


async def test_top_ends_with_the_error_that_another_reading_would_not_change(
    running_job: JobCluster, tmp_path: pathlib.Path
) -> None:
    """As with a token that has expired."""
    api, name = running_job.api, f"top-{running_job.namespace}"
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": name}
    binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name}}
    bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
    api.call("POST", bindings, {**binding, "roleRef": role, "subjects": [subject]})
    config = tmp_path / "kubeconfig"
    config.write_text((running_job.cluster.data / "kubeconfig").read_text().replace("    token:", f"    as: {name}\n    token:"))
    running = await running_job.in_terminal("top", "--interval", "0.2", "--kubeconfig", str(config))
    await until(running, "\x1b[36mRunning")
    await running_job.do(api.call, "DELETE", f"{bindings}/{name}")
    text = await until(running, f'User "{name}" cannot list resource')
    assert "\x1b[?1049l" in text.partition("error: ")[0]  # the screen is restored
    assert await asyncio.wait_for(running.wait(), TIMEOUT_SECONDS) == 1
    running.close()


async def shown(running_job: JobCluster, *command: str, variables: dict[str, str] | None = None) -> str:
    """What the command shows on a terminal up to the state of the job."""
    running = await running_job.in_terminal(*command, variables=variables)
    text = await until(running, "Running")
    assert await asyncio.wait_for(running.wait(), TIMEOUT_SECONDS) == 0
    running.close()
    return text


async def test_no_color_means_no_colours_on_a_terminal(running_job: JobCluster) -> None:
    for command in (["ls"], ["top", "--once"]):
        assert "\x1b[36mRunning" in await shown(running_job, *command)
        assert "\x1b[" not in await shown(running_job, *command, variables={"NO_COLOR": "1"})
    assert "\x1b[" not in (await running_job("ls"))[1]


async def test_top_shows_devices_and_their_holders(running_job: JobCluster) -> None:
    code, out, _ = await running_job("top")
    assert code == 0
    rows = [line.split() for line in out.splitlines()]
    assert ["pytorchjob/j", "Running", "-", "-", "2"] in [row[:5] for row in rows]
    assert "nvidia.com/gpu" in [row[0] for row in rows if row]
    assert f"{running_job.namespace}/j master-0 (2)" in out
    found = json.loads((await running_job("top", "-o", "json"))[1])
    assert [each["devices"] for each in found["jobs"][0]["replicas"]] == [{"nvidia.com/gpu": 2}]
    assert yaml.safe_load((await running_job("top", "-o", "yaml"))[1])["jobs"][0]["name"] == "j"
    assert (await running_job("top", "-o", "name"))[1] == "pytorchjob.kubeflow.org/j\n"
    await running_job.succeed("j-master-0")
    await running_job.until(lambda: "Succeeded" in str((running_job.job() or {})["status"]["conditions"]))
    out = (await running_job("top"))[1]
    assert "No active jobs." in out
    assert f"{running_job.namespace}/j" not in out

"""`traincrew logs`, of existing replicas and from stored files."""

from __future__ import annotations

import asyncio
import datetime as dt
import io
import json
import pathlib

import pytest
import yaml
from tests.cli.cluster_fixture import TIMEOUT_SECONDS, JobCluster, write_manifests
from tests.cluster import manifests

from traincrew.cli.jobs import log_streams, terminal_output
from traincrew.client import kubeconfig
from traincrew.client.remote import RemoteClient
from traincrew.embedded.kubelet.logs import cri_format, log_directory
from traincrew.inspection import job_informer, job_references

JOB = manifests.job("PyTorchJob", Master=1, Worker=2)
PODS = ("j-master-0", "j-worker-0", "j-worker-1")
THEN = dt.datetime(2024, 5, 1, 10, tzinfo=dt.UTC)


@pytest.fixture
async def running_job(job_cluster: JobCluster, tmp_path: pathlib.Path) -> JobCluster:
    await job_cluster("run", "--detach", write_manifests(tmp_path, JOB))
    await job_cluster.run(*PODS)
    for second, pod in enumerate(("j-worker-1", "j-master-0", "j-worker-0", "j-worker-1")):
        await job_cluster.container(pod).write_log(f"line {second}", at=THEN + dt.timedelta(seconds=second))
    return job_cluster


async def test_logs_of_all_replicas_are_sorted_by_time(running_job: JobCluster) -> None:
    code, out, _ = await running_job("logs", "j")
    assert code == 0
    assert out.splitlines() == [
        "[worker-1] line 0", "[master-0] line 1", "[worker-0] line 2", "[worker-1] line 3",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        (("--replica", "worker-1"), "line 0\nline 3\n"),
        (("--replica", "worker-1", "--tail", "1"), "line 3\n"),
        (("--replica", "worker-1", "--since", "2024-05-01T10:00:02Z"), "line 3\n"),
        (("--replica", "worker-1", "--since", "5m"), ""),
        (("--replica", "worker-1", "--tail", "1", "--prefix"), "[worker-1] line 3\n"),
        (("--replica", "worker", "--tail", "1", "--no-prefix"), "line 2\nline 3\n"),
        (("--replica", "worker-1", "--timestamps", "--tail", "1"), "2024-05-01T10:00:03.000000000Z line 3\n"),
    ],
)
async def test_options_select_lines(running_job: JobCluster, options: tuple[str, ...], shown: str) -> None:
    assert (await running_job("logs", "j", *options))[:2] == (0, shown)


async def test_lines_are_documents_for_programs(running_job: JobCluster) -> None:
    expected = [
        {"replica": "worker-1", "time": "2024-05-01T10:00:00.000000000Z", "line": "line 0"},
        {"replica": "worker-1", "time": "2024-05-01T10:00:03.000000000Z", "line": "line 3"},
    ]
    selection = ("logs", "j", "--replica", "worker-1", "-o")
    assert [json.loads(line) for line in (await running_job(*selection, "json"))[1].splitlines()] == expected
    assert yaml.safe_load((await running_job(*selection, "yaml"))[1]) == expected
    assert (await running_job(*selection, "name"))[1] == "pod/j-worker-1\n"


async def test_previous_prints_the_run_before_the_restart(running_job: JobCluster) -> None:
    await running_job.restart("j-master-0")
    await running_job.write_log("j-master-0", "again")
    assert (await running_job("logs", "j", "--replica", "master", "--previous"))[:2] == (0, "line 1\n")
    assert (await running_job("logs", "j", "--replica", "master"))[:2] == (0, "again\n")


async def test_an_unknown_replica_is_an_error_that_lists_the_replicas(running_job: JobCluster) -> None:
    code, _, err = await running_job("logs", "j", "--replica", "worker-7")
    assert code == 2
    assert "Logs exist for: master-0, worker-0, worker-1" in err


async def test_a_container_that_never_ran_is_reported(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    one, two = (manifests.replicas("PyTorchJob", count, "Never") for count in (1, 2))
    await job_cluster("run", "--detach", write_manifests(tmp_path, manifests.job("PyTorchJob", Master=one, Worker=two)))
    await job_cluster.run(*PODS)
    refused = {"terminated": {"exitCode": 128, "reason": "StartError", "message": 'exec: "nosuch": not found'}}
    states = {"j-master-0": refused, "j-worker-0": {"waiting": {"reason": "PodInitializing"}}}
    for pod, state in states.items():
        status = {"name": "pytorch", "image": "x", "imageID": "x", "ready": False, "restartCount": 0, "state": state}
        await job_cluster.do(job_cluster.kubelet.status, pod, {"phase": "Failed", "containerStatuses": [status]})
    await job_cluster.write_log("j-worker-1", "here")
    code, out, err = await job_cluster("logs", "j")
    assert (code, out) == (0, "[worker-1] here\n")
    assert 'j-master-0: container pytorch failed before it started: exec: "nosuch": not found' in err
    assert "j-worker-0: container pytorch was not started: the pod failed first" in err


async def test_follow_ends_with_the_job(running_job: JobCluster) -> None:
    running = await running_job.start("logs", "-f", "j", "--tail", "0")
    # It follows as soon as the node has somebody who reads.
    await running_job.until(lambda: all(running_job.container(pod).followers for pod in PODS))
    await running_job.write_log("j-worker-0", "new")
    assert await running.line() == "[worker-0] new\n"
    await running_job.succeed("j-worker-0", "j-worker-1")
    await running_job.write_log("j-master-0", "last")
    await running_job.succeed("j-master-0")
    assert (await running.end())[:2] == (0, "[master-0] last\n")


async def test_follow_waits_for_a_replica_that_starts_when_the_job_has_finished(
    job_cluster: JobCluster, tmp_path: pathlib.Path
) -> None:
    job = manifests.job("PyTorchJob", Master=1, Worker=1)
    job["spec"]["runPolicy"] = {"cleanPodPolicy": "None"}
    await job_cluster("run", "--detach", write_manifests(tmp_path, job))
    await job_cluster.run("j-master-0")
    await job_cluster.do(job_cluster.kubelet.waiting, "j-worker-0", "ContainerCreating", "")
    await job_cluster.write_log("j-master-0", "first")
    await job_cluster.succeed("j-master-0")
    await job_cluster.until(lambda: "Succeeded" in str((job_cluster.job() or {})["status"]["conditions"]))
    running = await job_cluster.start("logs", "-f", "j")
    assert await running.line() == "[master-0] first\n"
    await job_cluster.run("j-worker-0")
    await job_cluster.write_log("j-worker-0", "late")
    assert await running.line() == "[worker-0] late\n"
    await job_cluster.succeed("j-worker-0")
    assert (await running.end())[:2] == (0, "")


async def test_follow_prints_the_logs_of_a_job_that_has_finished_and_of_a_deleted_one(running_job: JobCluster) -> None:
    await running_job.succeed(*reversed(PODS))
    await running_job.until(lambda: "Succeeded" in str((running_job.job() or {})["status"]["conditions"]))
    lines = "[worker-1] line 0\n[master-0] line 1\n[worker-0] line 2\n[worker-1] line 3\n"
    assert (await running_job("logs", "-f", "j"))[:2] == (0, lines)
    keep(running_job, "gone-worker-0", "a", 0, (THEN, b"one"))
    assert (await running_job("logs", "-f", "gone"))[:2] == (0, "one\n")
    code, _, err = await running_job("logs", "-f", "nothing")
    assert (code, "not found" in err) == (2, True)


async def test_logs_are_complete_when_those_of_all_pods_are_followed(running_job: JobCluster) -> None:
    """The job may finish after the command has read it and before it follows the first pod."""
    await running_job.succeed(*reversed(PODS))
    await running_job.until(lambda: "Succeeded" in str((running_job.job() or {})["status"]["conditions"]))
    out = io.BytesIO()
    connection = kubeconfig.load(str(running_job.cluster.data / "kubeconfig"))
    async with RemoteClient(connection, component="test") as client:
        key = job_informer.JobKey(job_references.find_kind("PyTorchJob"), running_job.namespace, "j")
        informer = job_informer.JobInformer(client, key)
        console = terminal_output.TerminalOutput(out, io.BytesIO())
        logs = log_streams.LogStreams(client, informer, console, log_streams.LogSelection())
        async with informer.started():
            following = asyncio.create_task(logs.run())
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await logs.complete()
                await logs.drain(TIMEOUT_SECONDS)
            following.cancel()
            await logs.close()
    assert len(out.getvalue().splitlines()) == 4


async def test_a_closed_pipe_is_not_an_error(running_job: JobCluster) -> None:
    running = await running_job.start("logs", "j")
    assert running.process.stdout is not None
    running.process._transport.get_pipe_transport(1).close()  # type: ignore[attr-defined]
    assert await running.process.wait() in (0, 1)
    assert running.process.stderr is not None
    assert b"Traceback" not in await running.process.stderr.read()


def keep(job_cluster: JobCluster, pod: str, uid: str, attempt: int, *lines: tuple[dt.datetime, bytes]) -> None:
    """Write a log file as the kubelet stores it."""
    directory = log_directory.container_directory(job_cluster.cluster.data / "logs", job_cluster.namespace, pod, uid, "pytorch")
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / f"{attempt}.log").open("ab") as file:
        for moment, text in lines:
            file.write(cri_format.timestamp(moment) + b" stdout F " + text + b"\n")


async def test_logs_of_deleted_pods_and_earlier_runs_are_read_from_files(running_job: JobCluster) -> None:
    now = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=5)
    keep(running_job, "j-worker-0", "gone", 0, (now, b"first run"))
    keep(running_job, "j-worker-0", "gone", 1, (now + dt.timedelta(seconds=1), b"second run"))
    keep(running_job, "j-worker-0", "older", 0, (THEN, b"of a job of that name before"))
    pod = await running_job.do(running_job.kubelet.pod, "j-worker-0")
    keep(running_job, "j-worker-0", pod["metadata"]["uid"], 0, (now + dt.timedelta(seconds=2), b"of the pod that is there"))
    code, out, _ = await running_job("logs", "j", "--replica", "worker-0", "--no-prefix")
    assert (code, out) == (0, "first run\nsecond run\nof the pod that is there\n")


async def test_logs_of_deleted_jobs_are_read_from_files(job_cluster: JobCluster) -> None:
    keep(job_cluster, "x-worker-0", "a", 0, (THEN, b"one"), (THEN + dt.timedelta(seconds=2), b"three"))
    keep(job_cluster, "x-worker-1", "b", 0, (THEN + dt.timedelta(seconds=1), b"two"))
    assert (await job_cluster("logs", "x"))[:2] == (0, "[worker-0] one\n[worker-1] two\n[worker-0] three\n")
    assert (await job_cluster("logs", "x", "--tail", "1", "--replica", "worker-0"))[:2] == (0, "three\n")


async def test_a_job_that_never_existed_is_an_error(job_cluster: JobCluster) -> None:
    code, out, err = await job_cluster("logs", "nothing")
    assert (code, out) == (2, "")
    assert f'job "nothing" not found in namespace "{job_cluster.namespace}"' in err


async def test_pods_deleted_while_followed_are_read_to_their_end_from_files(
    job_cluster: JobCluster, tmp_path: pathlib.Path
) -> None:
    running = await job_cluster.start("run", write_manifests(tmp_path, manifests.job("PyTorchJob", Master=1)))
    await job_cluster.run("j-master-0")
    pod = await job_cluster.do(job_cluster.kubelet.pod, "j-master-0")
    now = dt.datetime.now(dt.UTC)
    await job_cluster.container("j-master-0").write_log("heard", at=now)
    assert await running.line() == "[master-0] heard\n"
    keep(job_cluster, "j-master-0", pod["metadata"]["uid"], 0, (now, b"heard"), (now + dt.timedelta(seconds=1), b"not heard"))
    await job_cluster.delete_pod("j-master-0")
    assert await running.line() == "[master-0] not heard\n"
    await job_cluster.run("j-master-0")
    await job_cluster.succeed("j-master-0")
    assert (await running.end())[:2] == (0, "")


async def test_a_line_that_a_lost_connection_cuts_is_printed_whole(running_job: JobCluster) -> None:
    following = await running_job.start("logs", "j", "-f", "--replica", "master-0")
    assert await following.line() == "line 1\n"
    container = running_job.container("j-master-0")
    moment = THEN + dt.timedelta(seconds=9)
    container.lines.append((moment, b"the beg"))
    await container.end()  # the node ends the stream in the middle of the line
    await running_job.until(lambda: not container.followers)
    container.lines[-1] = (moment, b"the beginning and the end\n")
    container.lines.append((moment, b"without newline"))
    await running_job.succeed("j-master-0")
    await running_job.do(running_job.api.delete, "pytorchjobs", running_job.namespace, "j")
    code, out, _ = await following.end()
    assert (code, out.splitlines()) == (0, ["the beginning and the end", "without newline"])

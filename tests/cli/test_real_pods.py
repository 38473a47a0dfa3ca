"""The verbs with real pods."""

from __future__ import annotations

import asyncio
import dataclasses
import io
import json
import os
import pathlib
import re
import signal
from collections.abc import AsyncIterator

import msgspec
import pytest
from tests.cli.cluster_fixture import COMMAND, TIMEOUT_SECONDS, write_manifests
from tests.cluster import manifests

from traincrew.cli.jobs import log_streams, terminal_output
from traincrew.client import kubeconfig
from traincrew.client.remote import RemoteClient
from traincrew.inspection import job_informer, job_references, replica_ends
from traincrew.model import objects, resources

TRAIN = """
import os, pathlib, time
rank = os.environ["RANK"]
print("rank", rank, flush=True)
pathlib.Path(f"made-{rank}").write_text(os.getcwd())
while not pathlib.Path("made-1").exists():  # a job is over when its master is
    time.sleep(0.05)
"""
NOISY = """
import os, pathlib, sys, time
rank = os.environ["RANK"]
state = pathlib.Path(f"at-{rank}")
first = int(state.read_text()) if state.exists() else 0
for number in range(first, first + 2000):
    print(f"L{rank} {number}")
    if number % 100 == 99:
        time.sleep(0.05)
state.write_text(str(first + 2000))
other = pathlib.Path("at-1")
while first and rank == "0" and not (other.exists() and other.read_text() == "4000"):  # a job is over when its master is
    time.sleep(0.05)
sys.exit(0 if first else 3)
"""


class Machine:
    """A cluster and a working directory."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.data, self.work = directory / "data", directory / "work"
        self.work.mkdir()
        kept = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
        self.env = {**kept, "TRAINCREW_DATA": os.fspath(self.data)}

    async def start(self, *arguments: str) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(*COMMAND, *arguments, cwd=self.work, env=self.env, stdout=pipe, stderr=pipe)

    async def __call__(self, *arguments: str) -> tuple[int, str, str]:
        process = await self.start(*arguments)
        async with asyncio.timeout(2 * TIMEOUT_SECONDS):
            out, err = await process.communicate()
        return process.returncode or 0, out.decode(), err.decode()

    def pid(self) -> int:
        found: int = json.loads((self.data / "running.json").read_text())["pid"]
        return found


@pytest.fixture
async def machine(tmp_path: pathlib.Path) -> AsyncIterator[Machine]:
    found = Machine(tmp_path)
    code, _, err = await found("up", "--detach")
    assert code == 0, err
    yield found
    await found("delete", "--all", "--wait")
    await found("down", "--grace", "0")


async def test_a_command_runs_in_the_current_directory_and_its_files_remain(machine: Machine) -> None:
    (machine.work / "train.py").write_text(TRAIN)
    code, out, err = await machine("run", "--kind", "PyTorchJob", "--workers", "2", "--name", "made", "--", "python", "train.py")
    assert code == 0, err
    assert sorted(out.splitlines()) == ["[master-0] rank 0", "[worker-0] rank 1"]
    assert [(machine.work / f"made-{rank}").read_text() for rank in (0, 1)] == [str(machine.work)] * 2
    assert (await machine("delete", "--wait", "made"))[0] == 0
    # The job and its pods are gone; what they wrote is not.
    assert sorted((await machine("logs", "made"))[1].splitlines()) == sorted(out.splitlines())


async def test_a_failed_command_gives_its_exit_code_and_why_shows_its_last_lines(machine: Machine) -> None:
    code, _, err = await machine("run", "--kind", "JAXJob", "--name", "bad", "--", "python", "-c", "import no_such_module")
    assert code == 1
    assert "Worker 0 failed with exit code 1" in err
    message = (await machine("why", "bad"))[1]
    assert "Install no_such_module" in message
    assert "| ModuleNotFoundError" in message


async def test_a_replica_without_output_is_said_to_have_printed_nothing(machine: Machine) -> None:
    code, _, err = await machine("run", "--kind", "JAXJob", "--name", "mute", "--", "python", "-c", "import sys; sys.exit(3)")
    assert (code, "Worker 0 failed with exit code 3: it printed nothing\n" in err) == (3, True), err
    assert "Worker 0 failed with exit code 3: it printed nothing" in (await machine("ls"))[1]
    page = (await machine("why", "mute"))[1]
    assert "UTC: it printed nothing\n" in page
    assert "Find where the program exits with code 3, and print the reason there." in page


@pytest.mark.parametrize(
    ("ending", "cause"),
    [
        ("os.kill(os.getpid(), 9)", "the process was killed by SIGKILL"),
        ("os._exit(137)", "the process returned this code itself, as a shell does if SIGKILL ends its command"),
    ],
)
async def test_an_exit_code_of_a_signal_differs_from_one_that_the_program_returns(
    machine: Machine, ending: str, cause: str
) -> None:
    code, _, err = await machine("run", "--kind", "JAXJob", "--name", "end", "--", "python", "-c", f"import os; {ending}")
    assert (code, f"failed with exit code 137: {cause}\n" in err) == (137, True), err
    assert cause in (await machine("ls"))[1]
    assert cause in (await machine("why", "end"))[1]


async def test_the_lines_of_a_pod_that_is_gone_before_the_first_list_are_printed(machine: Machine) -> None:
    """The first pod of the job fails and is replaced while `run` connects."""
    (machine.work / "twice.py").write_text(
        "import os, pathlib, sys\nfirst = not pathlib.Path('begun').exists()\npathlib.Path('begun').touch()\n"
        "print('first' if first else 'second', flush=True)\nsys.stdout.flush()\nos._exit(137 if first else 1)\n"
    )
    work = str(machine.work)
    mounts = [{"name": "work", "mountPath": work}]
    command = ["python", "twice.py"]
    container = {"name": "jax", "image": "a/b:1", "command": command, "workingDir": work, "volumeMounts": mounts}
    template = {"spec": {"containers": [container], "volumes": [{"name": "work", "hostPath": {"path": work}}]}}
    worker = {"replicas": 1, "restartPolicy": "ExitCode", "template": template}
    path = write_manifests(machine.work, manifests.job("JAXJob", "twice", Worker=worker))
    assert (await machine("run", "--detach", path))[0] == 0
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while " Failed " not in (await machine("ls"))[1]:
            pass
    out = io.BytesIO()
    async with RemoteClient(kubeconfig.load(str(machine.data / "kubeconfig")), component="test") as client:
        informer = job_informer.JobInformer(client, job_informer.JobKey(job_references.find_kind("JAXJob"), "default", "twice"))
        console = terminal_output.TerminalOutput(out, io.BytesIO())
        logs = log_streams.LogStreams(client, informer, console, log_streams.LogSelection(), machine.data / "logs")
        async with informer.started():
            logs.add_missed_pods()
            following = asyncio.create_task(logs.run())
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await asyncio.sleep(0)  # the logs are opened
                await logs.finished()
            following.cancel()
            await logs.close()
    assert sorted(out.getvalue().splitlines()) == [b"[worker-0] first", b"[worker-0] second"]


async def test_why_reads_the_kept_log_of_a_deleted_pod(machine: Machine) -> None:
    """The status has the last 2 KiB, which do not contain the exception."""
    (machine.work / "long.py").write_text(
        "import os, traceback\ntry:\n    raise KeyError('label')\nexcept KeyError:\n    traceback.print_exc()\n"
        "print('cleaning up\\n' * 200, flush=True)\nos._exit(3)\n"
    )
    mounts = [{"name": "work", "mountPath": str(machine.work)}]
    command = ["python", str(machine.work / "long.py")]
    container = {"name": "jax", "image": "a/b:1", "command": command, "volumeMounts": mounts}
    volume = {"name": "work", "hostPath": {"path": str(machine.work)}}
    replica = {"replicas": 1, "template": {"spec": {"containers": [container], "volumes": [volume]}}}
    document = manifests.job("JAXJob", "gone", Worker=replica, run={"cleanPodPolicy": "All"})
    code, _, err = await machine("run", write_manifests(machine.work, document))
    assert (code, "Worker 0 failed with exit code 3: KeyError: 'label'" in err) == (3, True), err
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while " PHASE " in (await machine("describe", "gone"))[1]:  # the table of the pods
            pass
    assert "| KeyError: 'label'" in (await machine("why", "gone"))[1]


async def test_the_log_of_a_pod_that_is_deleted_before_it_is_read_is_read_from_the_kept_file(machine: Machine) -> None:
    """The informer still shows the pod when the API server has deleted it."""
    (machine.work / "raises.py").write_text("raise KeyError('label')\n")
    code, _, err = await machine("run", "--kind", "JAXJob", "--name", "late", "--", "python", "raises.py")
    assert code == 1, err
    async with RemoteClient(kubeconfig.load(str(machine.data / "kubeconfig")), component="test") as client:
        informer = job_informer.JobInformer(client, job_informer.JobKey(job_references.find_kind("JAXJob"), "default", "late"))
        async with informer.started():
            job = informer.observe()
            assert job is not None
            assert job.pods
            stale = dataclasses.replace(
                job, pods=tuple(msgspec.structs.replace(pod, status=objects.PodStatus()) for pod in job.pods)
            )
            (end,) = await replica_ends.read(client, stale)
            assert "KeyError: 'label'" in end.output, "the watch of the pods has not shown the end yet"
            for pod in job.pods:
                await client.delete(resources.PODS, "default", pod.name, grace=0)
            for observed in (job, stale):
                (end,) = await replica_ends.read(client, observed, machine.data / "logs")
                assert "KeyError: 'label'" in end.output
                assert await replica_ends.read(client, observed) == (), "without the files of this machine there is no log"


async def test_why_names_a_replica_that_printed_an_exception_and_does_not_exit(machine: Machine) -> None:
    (machine.work / "stuck.py").write_text(
        "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,)).start()\nraise ValueError('bad data')\n"
    )
    assert (await machine("run", "--detach", "--kind", "JAXJob", "--name", "stuck", "--", "python", "stuck.py"))[0] == 0
    async with asyncio.timeout(2 * TIMEOUT_SECONDS):
        while "has not exited: ValueError: bad data" not in (page := (await machine("why", "stuck"))[1]):
            pass
    assert "worker-0 printed an exception" in page
    assert "| ValueError: bad data" in page


async def test_no_line_is_lost_or_repeated_when_containers_restart_and_the_cluster_is_killed(machine: Machine) -> None:
    (machine.work / "noisy.py").write_text(NOISY)
    words = ("run", "--kind", "PyTorchJob", "--workers", "2", "--retries", "5", "--name", "noisy", "--", "python", "noisy.py")
    process = await machine.start(*words)
    assert process.stdout is not None
    lines = [(await process.stdout.readline()).decode() for _ in range(500)]
    os.kill(machine.pid(), signal.SIGKILL)
    assert (await machine("up", "--detach"))[0] == 0
    async with asyncio.timeout(2 * TIMEOUT_SECONDS):
        out, err = await process.communicate()
    assert process.returncode == 0, err
    _, kept, _ = await machine("logs", "noisy")
    for text in (kept, "".join(lines) + out.decode()):
        found = re.findall(r"L(\d) (\d+)", text)
        for rank in "01":
            assert [int(number) for each, number in found if each == rank] == list(range(4000)), err.decode()


async def test_exec_works_in_a_running_replica_and_an_interrupt_deletes_it(machine: Machine) -> None:
    process = await machine.start("run", "--kind", "JAXJob", "--name", "long", "--", "sh", "-c", "echo running_job; sleep 1000")
    assert process.stdout is not None
    assert await asyncio.wait_for(process.stdout.readline(), TIMEOUT_SECONDS) == b"[worker-0] running_job\n"
    assert await machine("exec", "long", "--", "sh", "-c", "hostname; pwd; exit 4") == (4, f"long-worker-0\n{machine.work}\n", "")
    process.send_signal(signal.SIGINT)
    async with asyncio.timeout(2 * TIMEOUT_SECONDS):
        await process.communicate()
    assert process.returncode == 130
    assert "No jobs found" in (await machine("ls"))[2]


async def test_an_unmapped_image_is_reported_once_with_its_environment(machine: Machine) -> None:
    replica = {"replicas": 1, "template": {"spec": {"containers": [{"name": "pytorch", "image": "a/b:1", "command": ["true"]}]}}}
    document = manifests.job("PyTorchJob", Master=replica, Worker=replica)
    path = write_manifests(machine.work, document)
    code, _, err = await machine("run", "--rm", path)
    assert code == 0, err
    (line,) = [each for each in err.splitlines() if "has no mapping" in each]
    assert line.startswith("image a/b:1 has no mapping and runs in Python 3.")
    assert "`traincrew image set a/b:1 --env-dir DIR`" in line
    assert "Did you mean" not in line
    assert (await machine("image", "set", "a/b", "--env", "A=1", "--cluster"))[0] == 0
    code, _, err = await machine("run", "--rm", path)
    assert (code, "has no mapping" in err) == (0, False)
    code, _, err = await machine("run", "--kind", "PyTorchJob", "--rm", "--", "true")
    assert (code, "has no mapping" in err) == (0, False)


async def test_an_unmapped_image_of_a_manifest_is_reported_with_the_one_that_was_meant(machine: Machine) -> None:
    assert (await machine("image", "set", "pytorch/pytorch", "--env", "A=1", "--cluster"))[0] == 0
    container = {"name": "pytorch", "image": "pytroch/pytroch:2.5.1", "command": ["true"]}
    replica = {"replicas": 1, "template": {"spec": {"containers": [container]}}}
    code, _, err = await machine("run", "--rm", write_manifests(machine.work, manifests.job("PyTorchJob", Master=replica)))
    assert code == 0, err
    (line,) = [each for each in err.splitlines() if "has no mapping" in each]
    assert ". Did you mean pytorch/pytorch? Run `traincrew image set pytroch/pytroch:2.5.1 --env-dir DIR`" in line


async def test_the_doctor_finds_the_operator_inside_the_cluster(machine: Machine) -> None:
    async with asyncio.timeout(2 * TIMEOUT_SECONDS):
        while "runs inside `traincrew up`" not in (out := (await machine("doctor", "--cluster"))[1]):
            assert "fail" not in out
    assert "warn" not in out
    assert "Install the operator" not in out

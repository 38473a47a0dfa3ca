"""The script with which an MPI v1 launcher waits for its workers, run by a real shell."""

from __future__ import annotations

import os
import pathlib
import subprocess

import pytest
from tests.planner import manifests

from traincrew.kinds import job_decoding
from traincrew.kinds.horovod import horovodrun
from traincrew.kinds.mpi import kubectl_delivery
from traincrew.model import jobs

WORKERS = "training.kubeflow.org/job-name=j,training.kubeflow.org/replica-type=worker"

# Answers `get pods` with one line per pod from the n-th line of a file at the n-th call, as jsonpath would print it.
KUBECTL = """#!/bin/sh
printf '%s\\n' "$*" >> "$CALLS"
sed -n "$(grep -c . "$CALLS")p" "$ANSWERS" | tr ' ' '\\n'
"""


def mpi_job(name: str = "j", command: list[str] | None = None, slots: int | None = None, workers: int = 2) -> jobs.Job:
    manifest = manifests.job("MPIJob", Launcher=1, Worker=workers)
    manifest["metadata"]["name"] = name
    manifest["spec"]["slotsPerWorker"] = slots
    container = manifest["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    container["command"] = command or ["mpirun", "train"]
    kind = manifests.BY_NAME["MPIJob"]
    stored = job_decoding.decode(kind, manifests.encoded(manifest))
    return kind.job(stored)


class Launcher:
    """The init container: directories for a fake kubectl, the host file and the target."""

    def __init__(self, place: pathlib.Path) -> None:
        self.place = place
        (place / "bin").mkdir()
        (place / "target").mkdir()
        (place / "mpi").mkdir()
        kubectl = place / "bin" / "kubectl"
        kubectl.write_text(KUBECTL)
        kubectl.chmod(0o755)

    def wait(self, job: jobs.Job, hostfile: str, answers: list[str]) -> subprocess.CompletedProcess[str]:
        """Run the script. If it still waits after the last answer, it is stopped."""
        (self.place / "mpi" / "hostfile").write_text(hostfile)
        (self.place / "answers").write_text("".join(f"{answer}\n" for answer in answers))
        script = kubectl_delivery.script(job, WORKERS).replace("/etc/mpi", str(self.place / "mpi")).replace("sleep 1", "sleep 0")
        environment = {
            "PATH": f"{self.place / 'bin'}:{os.environ['PATH']}",
            "TARGET_DIR": str(self.place / "target"),
            "NAMESPACE": "n",
            "ANSWERS": str(self.place / "answers"),
            "CALLS": str(self.place / "calls"),
        }
        return subprocess.run(["/bin/sh", "-c", script], env=environment, text=True, capture_output=True, timeout=30, check=False)

    @property
    def calls(self) -> list[str]:
        return (self.place / "calls").read_text().splitlines()


@pytest.fixture
def launcher(tmp_path: pathlib.Path) -> Launcher:
    return Launcher(tmp_path)


def test_the_launcher_waits_until_every_worker_of_the_host_file_is_ready(launcher: Launcher) -> None:
    hosts = "j-worker-0 slots=1\nj-worker-1 slots=1\n"
    done = launcher.wait(mpi_job(), hosts, ["False", "True False", "True False", "True True"])
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "2 of 2 workers are ready"
    assert len(launcher.calls) == 4
    assert (launcher.place / "target" / "kubectl").read_text() == KUBECTL


def test_it_asks_for_the_readiness_of_the_jobs_own_workers(launcher: Launcher) -> None:
    launcher.wait(mpi_job(), "j-worker-0 slots=1\n", ["True"])
    states = 'jsonpath={range .items[*]}{.status.conditions[?(@.type=="Ready")].status}{"\\n"}{end}'
    assert launcher.calls == [f"get pods --namespace n --selector {WORKERS} --output {states}"]


def test_a_launcher_that_is_a_host_itself_is_not_waited_for(launcher: Launcher) -> None:
    hosts = "a-worker-b-launcher slots=1\na-worker-b-worker-0 slots=1\n"
    done = launcher.wait(mpi_job("a-worker-b"), hosts, ["True"])
    assert done.stdout.splitlines() == ["1 of 1 workers are ready"]


def test_without_workers_it_goes_on_at_once(launcher: Launcher) -> None:
    done = launcher.wait(mpi_job(workers=0), "", [""])
    assert done.returncode == 0
    assert done.stdout.splitlines() == ["0 of 0 workers are ready"]


def test_an_elastic_launch_goes_on_with_its_minimum(launcher: Launcher) -> None:
    command = ["horovodrun", "-np", "4", "--min-np", "2", "--host-discovery-script", "/etc/mpi/discover_hosts.sh", "train"]
    hosts = "".join(f"j-worker-{index} slots=1\n" for index in range(4))
    done = launcher.wait(mpi_job(command=command), hosts, ["True False", "True True False"])
    assert done.stdout.splitlines()[-1] == "2 of 2 workers are ready"


def test_an_image_without_kubectl_says_what_to_do(launcher: Launcher) -> None:
    (launcher.place / "bin" / "kubectl").unlink()
    script = kubectl_delivery.script(mpi_job(), WORKERS)
    place = {"PATH": str(launcher.place / "bin"), "TARGET_DIR": "/nowhere", "NAMESPACE": "n"}
    done = subprocess.run(["/bin/sh", "-c", script], env=place, text=True, capture_output=True, timeout=30, check=False)
    assert done.returncode == 127
    assert done.stdout.startswith("kubectl: not found")
    assert "--mpi-kubectl-delivery-image" in done.stdout


@pytest.mark.parametrize(
    ("command", "slots", "least"),
    [
        pytest.param(["mpirun", "-np", "4"], 1, None, id="no discovery script, no minimum"),
        pytest.param(["horovodrun", "--host-discovery-script", "x", "--min-np", "3"], 1, 3, id="min-np"),
        pytest.param(["horovodrun", "--host-discovery-script=x", "--min-np=3", "-np", "8"], 2, 2, id="rounded up to workers"),
        pytest.param(["horovodrun", "--host-discovery-script", "x", "-np", "4"], 2, 2, id="np stands for the minimum"),
        pytest.param(["sh", "-c", "horovodrun --min-num-proc 2 --host-discovery-script x"], None, 2, id="inside a shell"),
        pytest.param(["horovodrun", "--host-discovery-script", "x", "--min-np", "$N"], 1, 1, id="a number nobody can read"),
        pytest.param(["horovodrun", "--host-discovery-script", "x", "--min-np"], 0, 1, id="a flag without a number"),
    ],
)
def test_the_minimum_of_an_elastic_launch_is_read_off_its_command(
    command: list[str], slots: int | None, least: int | None
) -> None:
    assert horovodrun.minimum_workers(mpi_job(command=command, slots=slots)) == least

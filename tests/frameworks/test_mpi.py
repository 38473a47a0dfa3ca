"""MPIJob's examples with the operator's own files: ranks must be on the workers, not on the launcher."""

from __future__ import annotations

import itertools
import os
import pathlib
import signal

import pytest
import yaml
from tests.frameworks import local_jobs, mpi_workers

from traincrew.cli.jobs import command_manifest
from traincrew.inspection import job_references
from traincrew.kinds import job_from_command

pytestmark = pytest.mark.frameworks


def test_mpirun_reaches_both_workers(tmp_path: pathlib.Path) -> None:
    with mpi_workers.of_example("mpi/minimal/job.yaml", tmp_path) as launcher:
        launcher.ends()
        assert sorted(line[0] for line in launcher.lines(r"^mpi-minimal-worker-\d$")) == [
            "mpi-minimal-worker-0",
            "mpi-minimal-worker-1",
        ]


@pytest.mark.parametrize(
    ("name", "library"),
    [("openmpi4", "Open MPI v4"), ("openmpi5", "Open MPI v5"), ("mpich", "MPICH"), ("intelmpi", "Intel")],
)
def test_ranks_of_every_implementation_run_on_the_workers(name: str, library: str, tmp_path: pathlib.Path) -> None:
    with mpi_workers.of_example(f"mpi/pi/{name}.yaml", tmp_path) as launcher:
        launcher.ends()
        where = {line[1]: line[2] for line in launcher.lines(r"rank=(\d) world=2 host=(\S+?-\d)")}
        assert where == {"0": f"pi-{name}-worker-0", "1": f"pi-{name}-worker-1"}
        assert launcher.lines(rf"^{library}.*: ranks on ")
        assert 3.1 < float(launcher.lines(r"pi is approximately (\S+)")[0][1]) < 3.2


@pytest.mark.parametrize("image", ["openmpi:4", "openmpi:5", "mpich", "intelmpi"])
def test_ranks_of_a_command_run_on_the_workers(image: str, tmp_path: pathlib.Path) -> None:
    """As `traincrew run --kind MPIJob --workers 2 --image traincrew/mpich -- python pi.py` creates the job."""
    request = job_from_command.CommandRequest(("python", "/examples/mpi/pi/pi.py"), workers=2)
    job = command_manifest.CommandJob(job_references.find_kind("MPIJob"), request, "pi", image=f"traincrew/{image}")
    manifest = tmp_path / "job.yaml"
    manifest.write_text(yaml.safe_dump(command_manifest.manifest(job)))
    with mpi_workers.of_example(str(manifest), tmp_path) as launcher:
        launcher.ends()
        where = {line[1]: line[2] for line in launcher.lines(r"rank=(\d) world=2 host=(\S+?-\d)")}
        assert where == {"0": "pi-worker-0", "1": "pi-worker-1"}


def test_horovod_under_mpirun_sees_both_ranks(tmp_path: pathlib.Path) -> None:
    with mpi_workers.of_example("mpi/tensorflow-mnist/job.yaml", tmp_path) as launcher:
        launcher.ends()
        where = {line[1]: line[2] for line in launcher.lines(r"rank=(\d) world=2 host=(\S+) mpi=True")}
        assert where == {"0": "tensorflow-mnist-worker-0", "1": "tensorflow-mnist-worker-1"}
        assert len(launcher.lines(r"gradients exchanged: weights equal on 2 ranks")) == 2
        assert float(launcher.lines(r"accuracy=(\S+)")[0][1]) > 0.6


def test_resnet_101_is_really_built_and_its_throughput_measured(tmp_path: pathlib.Path) -> None:
    with mpi_workers.of_example("mpi/benchmarks/job.yaml", tmp_path) as launcher:
        launcher.ends()
        assert launcher.lines(r"Parameters:  44707176 in 347 layers")
        assert {line[1] for line in launcher.lines(r"rank=\d world=2 host=(\S+)")} == {
            "benchmarks-worker-0",
            "benchmarks-worker-1",
        }
        assert len(launcher.lines(r"gradients exchanged: weights equal on 2 ranks")) == 2
        assert float(launcher.lines(r"^Total images/sec: (\S+)$")[0][1]) > 0


def test_elastic_training_follows_the_workers_there_are(tmp_path: pathlib.Path) -> None:
    launcher = mpi_workers.of_example("mpi/horovod-elastic/job.yaml", tmp_path)
    names = [f"horovod-elastic-worker-{index}" for index in range(3)]
    mpi_workers.discover(tmp_path, names[:2])
    with launcher:
        launcher.says("launcher", r"world=2 host=\S+ batch=20 ")
        mpi_workers.discover(tmp_path, names)
        third = launcher.says("launcher", r"world=3 host=horovod-elastic-worker-2 begins at batch=(\d+)")
        assert int(third[1]) >= 20
        launcher.says("launcher", r"world=3 host=\S+ batch=\d+ ")
        mpi_workers.discover(tmp_path, names[:1])
        launcher.says("launcher", r"world=1 host=horovod-elastic-worker-0 batch=\d+ ")
        batches = [int(line[1]) for line in launcher.lines(r"rank=0 .* batch=(\d+) loss")]
        assert len(batches) > 1
        assert all(later >= earlier - 10 for earlier, later in itertools.pairwise(batches))


def test_training_continues_without_a_silent_worker_when_its_node_is_lost(tmp_path: pathlib.Path) -> None:
    """The processes of the worker are stopped: its connections stay open, and nothing ends a collective but the operator."""
    launcher = mpi_workers.of_example("mpi/horovod-elastic/job.yaml", tmp_path)
    launcher.processes["launcher"].env["HOROVOD_GLOO_TIMEOUT_SECONDS"] = "3600"
    names = [f"horovod-elastic-worker-{index}" for index in range(2)]
    mpi_workers.discover(tmp_path, names)
    with launcher:
        launcher.says("launcher", r"world=2 host=\S+ batch=20 ")
        stopped = mpi_workers.processes(names[1])
        assert stopped
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        try:
            mpi_workers.discover(tmp_path, names[:1], lost=(names[1],))
            launcher.says("launcher", r"world=1 host=horovod-elastic-worker-0 batch=\d+ ")
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGKILL)
        batches = [int(line[1]) for line in launcher.lines(r"host=horovod-elastic-worker-0 .*batch=(\d+) loss")]
        assert all(later >= earlier - 10 for earlier, later in itertools.pairwise(batches))


def test_a_horovod_that_sees_fewer_ranks_than_mpirun_started_fails_loudly(tmp_path: pathlib.Path) -> None:
    launcher = mpi_workers.of_example("mpi/tensorflow-mnist/job.yaml", tmp_path)
    at = launcher.processes["launcher"].argv.index("python")
    # A build without MPI uses Gloo without a rendezvous: every rank runs alone.
    alone = ("HOROVOD_CONTROLLER=gloo", "HOROVOD_CPU_OPERATIONS=gloo")
    launcher.processes["launcher"].argv[at:at] = [word for setting in alone for word in ("-x", setting)]
    with launcher:
        launcher.says("launcher", r"mpirun started 2 ranks, Horovod sees 1")
        running = launcher.processes["launcher"].running
        assert running is not None
        assert running.wait(local_jobs.LONG) != 0

"""Shell completion: with the Tab key of the shells that are installed, and by their protocol."""

from __future__ import annotations

import asyncio
import os
import pathlib
import shutil
import sys

import pytest
from tests.cli.cluster_fixture import COMMAND, JobCluster, write_manifests
from tests.cli.test_interrupts import typed, until
from tests.cluster import manifests
from tests.embedded.kubelet.server import process_runtime

from traincrew.cli.main import VERBS
from traincrew.embedded.kubelet.runtime.streaming import ExecOptions

SCRIPT = 'import sys; sys.argv[0] = "traincrew"; from traincrew.cli.main import main; main()'
"""The name of the program is part of the protocol."""


@pytest.fixture
async def running_job(job_cluster: JobCluster, tmp_path: pathlib.Path) -> JobCluster:
    jobs = (manifests.job("PyTorchJob", "mnist", Master=1, Worker=1), manifests.job("TFJob", "resnet", Worker=1))
    await job_cluster("run", "--detach", write_manifests(tmp_path, *jobs))
    await job_cluster.run("mnist-master-0", "mnist-worker-0")
    return job_cluster


async def complete(job_cluster: JobCluster, *words: str, variables: dict[str, str] | None = None) -> list[str]:
    """The suggestions for the last word."""
    line = {"COMP_WORDS": " ".join(("traincrew", *words)), "COMP_CWORD": str(len(words)), "_TRAINCREW_COMPLETE": "bash_complete"}
    env = {**job_cluster.environment(), **line, **(variables or {})}
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", SCRIPT, env=env, stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    return [each.partition(",")[2] for each in out.decode().splitlines() if each]


async def test_names_of_the_cluster_are_suggested(running_job: JobCluster) -> None:
    where = ("-n", running_job.namespace)
    assert set(await complete(running_job, "logs", *where, "")) == {"mnist", "resnet"}
    assert await complete(running_job, "why", *where, "m") == ["mnist"]
    assert await complete(running_job, "why", *where, "tfjob/") == ["tfjob/resnet"]
    assert await complete(running_job, "delete", *where, "mnist", "") == ["resnet"]
    assert await complete(running_job, "exec", *where, "mnist", "--replica", "w") == ["worker-0", "worker"]
    assert "mnist:" in await complete(running_job, "cp", *where, "")


async def test_verbs_kinds_images_and_environments_are_suggested(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    configuration = tmp_path / "config"
    variables = {"XDG_CONFIG_HOME": str(configuration)}
    environment = tmp_path / "venv"
    (environment / "bin").mkdir(parents=True)
    process = await asyncio.create_subprocess_exec(
        *COMMAND, "image", "set", "my/torch:*", "--env-dir", str(environment),
        env={**job_cluster.environment(), **variables}, stdout=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert await process.wait() == 0
    assert await complete(job_cluster, "") == list(VERBS)
    assert await complete(job_cluster, "run", "--kind", "p") == ["PyTorchJob", "PaddleJob"]
    assert await complete(job_cluster, "run", "--image", "my", variables=variables) == ["my/torch:"]
    assert str(environment) in await complete(job_cluster, "run", "--env-dir", "", variables=variables)
    assert await complete(job_cluster, "image", "rm", "", variables=variables) == ["my/torch:*"]


async def test_without_a_cluster_there_are_no_names_and_no_error(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    elsewhere = {"TRAINCREW_DATA": str(tmp_path / "none"), "HOME": str(tmp_path)}
    assert await complete(job_cluster, "logs", "", variables=elsewhere) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
async def test_every_shell_has_a_script(job_cluster: JobCluster, shell: str) -> None:
    process = await asyncio.create_subprocess_exec(*COMMAND, "completion", shell, stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    assert b"_TRAINCREW_COMPLETE=" + shell.encode() in out
    if program := shutil.which(shell):  # zsh and fish are not on every machine
        checked = await asyncio.create_subprocess_exec(program, "-n", stdin=asyncio.subprocess.PIPE)
        await checked.communicate(out)
        assert checked.returncode == 0


SHELLS = {
    "bash": (["--norc", "--noprofile", "-i"], "source <(traincrew completion bash)"),
    "zsh": (["-f", "-i"], "autoload -Uz compinit && compinit -D -u && source <(traincrew completion zsh)"),
    "fish": (["--no-config", "-i"], "traincrew completion fish | source"),
}
"""By shell: its arguments without the files of the user, and the lines of docs/cli.md."""


@pytest.mark.parametrize("shell", SHELLS)
async def test_the_tab_key_completes_a_job_name(running_job: JobCluster, tmp_path: pathlib.Path, shell: str) -> None:
    if (found := shutil.which(shell)) is None:
        pytest.skip(f"{shell} is not installed")
    program = tmp_path / "bin" / "traincrew"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{SCRIPT}' \"$@\"\n")
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    env = {**running_job.environment(), "PATH": path, "TERM": "xterm", "HOME": str(tmp_path), "PS1": "> "}
    arguments, source = SHELLS[shell]
    command = ["env", *(f"{name}={value}" for name, value in env.items() if name != "COLUMNS"), found, *arguments]
    running = await process_runtime.start(command, ExecOptions(stdin=True, stdout=True, tty=True), tmp_path)
    running.resize(200, 50)
    try:
        await typed(running, f"{source}; echo rea''dy\r")
        await until(running, "ready")
        await typed(running, f"traincrew logs -n {running_job.namespace} re\t")
        await typed(running, "\x01echo \r")  # the whole line, whatever the shell draws
        await until(running, f"traincrew logs -n {running_job.namespace} resnet\r\n")
    finally:
        running.close()
        await running.wait()

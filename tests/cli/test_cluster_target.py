"""The target cluster, the start of the local cluster, and lazy imports."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest
from tests.cli.cluster_fixture import COMMAND, TIMEOUT_SECONDS, Cluster, JobCluster, write_manifests
from tests.cluster import manifests

from traincrew import errors
from traincrew.cli import cluster_target
from traincrew.cli.main import VERBS


def traincrew(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "TRAINCREW_DATA")}
    return subprocess.run([*COMMAND, *arguments], env={**kept, **env}, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> pathlib.Path:
    """No kubeconfig, no cluster."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TRAINCREW_DATA", str(tmp_path / "data"))
    return tmp_path


def kubeconfig(path: pathlib.Path, server: str) -> pathlib.Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{{name: c, context: {{cluster: c, namespace: there}}}}]\n"
        f"clusters: [{{name: c, cluster: {{server: {server}}}}}]\n"
    )
    return path


def test_the_option_overrides_the_variable_and_it_overrides_the_user_kubeconfig(
    bare: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubeconfig(bare / "home/.kube/config", "https://own")
    assert cluster_target.resolve(cluster_target.TargetOptions()).connection.server == "https://own"
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(bare / "variable", "https://variable")))
    assert cluster_target.resolve(cluster_target.TargetOptions()).connection.server == "https://variable"
    named = kubeconfig(bare / "named", "https://named")
    found = cluster_target.resolve(cluster_target.TargetOptions(kubeconfig=str(named)))
    assert (found.connection.server, found.namespace, found.local) == ("https://named", "there", None)
    assert cluster_target.resolve(cluster_target.TargetOptions(namespace="n")).namespace == "n"


def test_the_local_cluster_precedes_the_user_kubeconfig(
    bare: pathlib.Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubeconfig(bare / "home/.kube/config", "https://own")
    found = cluster_target.resolve(cluster_target.TargetOptions(data=str(cluster.data)))
    assert found.local is not None
    assert found.local.data == cluster.data
    monkeypatch.setenv("KUBECONFIG", str(cluster.data / "kubeconfig"))
    assert cluster_target.resolve(cluster_target.TargetOptions(data=str(cluster.data))).local is not None
    assert cluster_target.resolve(cluster_target.TargetOptions()).local is None  # the same server, but its directory is not known


def test_without_a_cluster_the_error_lists_all_places(bare: pathlib.Path) -> None:
    with pytest.raises(errors.NotRunning) as caught:
        cluster_target.resolve(cluster_target.TargetOptions())
    for words in ("--kubeconfig", "$KUBECONFIG", str(bare / "data"), ".kube/config", "traincrew up --detach"):
        assert words in str(caught.value)


def test_an_unreachable_api_server_is_an_error_of_one_line(tmp_path: pathlib.Path) -> None:
    found = traincrew("ls", "--kubeconfig", str(kubeconfig(tmp_path / "k", "http://127.0.0.1:1")))
    assert found.returncode == 1
    (line,) = found.stderr.splitlines()
    assert line.startswith("error: no response from http://127.0.0.1:1: Connection refused. ")
    assert "`traincrew up --detach`" in line


def test_the_start_hint_is_for_local_servers_only(tmp_path: pathlib.Path) -> None:
    for server, own in (("https://127.0.0.1:1", True), ("https://localhost:1", True), ("https://192.0.2.1:1", False)):
        found = cluster_target.resolve(cluster_target.TargetOptions(kubeconfig=str(kubeconfig(tmp_path / "k", server))))
        assert ("traincrew up" in cluster_target.start_hint(found)) is own


def test_run_starts_the_local_cluster_if_none_is_named_or_running(tmp_path: pathlib.Path) -> None:
    data = tmp_path / "fresh"
    job = manifests.job("PyTorchJob", Master=1, run={"suspend": True})  # no matter whether its pods would run
    try:
        found = traincrew("run", "--detach", write_manifests(tmp_path, job), "--data", str(data), HOME=str(tmp_path))
        assert found.returncode == 0, found.stderr
        assert "Started the cluster on this machine" in found.stderr
        assert found.stderr.count("traincrew down") == 1, "how to stop it is said once"
        assert "PyTorchJob" in traincrew("ls", "--data", str(data)).stdout
    finally:
        traincrew("down", "--data", str(data))


def test_a_run_that_started_the_cluster_says_at_its_end_that_the_cluster_keeps_running(tmp_path: pathlib.Path) -> None:
    data, job = tmp_path / "fresh", manifests.job("PyTorchJob", Master=1, run={"suspend": True})
    command = ("run", "--timeout", "1s", write_manifests(tmp_path, job), "--data", str(data))
    try:
        first, second = (traincrew(*command, HOME=str(tmp_path)) for _ in range(2))
        assert (first.returncode, second.returncode) == (124, 124), first.stderr + second.stderr
        assert first.stderr.splitlines()[-1].startswith("The cluster keeps running.")
        assert "keeps running" not in second.stderr
    finally:
        traincrew("down", "--data", str(data))


def test_run_starts_the_local_cluster_in_a_shell_that_traincrew_env_has_prepared(tmp_path: pathlib.Path) -> None:
    data = tmp_path / "data"
    variables = {**os.environ, "TRAINCREW_DATA": str(data), "KUBECONFIG": str(data / "kubeconfig")}
    command = [*COMMAND, "run", "--detach", "--kind", "PyTorchJob", "--", "true"]
    try:
        for _ in range(2):
            done = subprocess.run(command, capture_output=True, text=True, env=variables, timeout=TIMEOUT_SECONDS, cwd=tmp_path)
            assert (done.returncode, "Started the cluster on this machine" in done.stderr) == (0, True), done.stderr
            assert subprocess.run([*COMMAND, "down"], env=variables, capture_output=True, check=False).returncode == 0
    finally:
        subprocess.run([*COMMAND, "down"], env=variables, capture_output=True, check=False)


def test_run_starts_no_cluster_if_one_is_named(tmp_path: pathlib.Path) -> None:
    path = kubeconfig(tmp_path / "k", "http://127.0.0.1:1")
    job = write_manifests(tmp_path, manifests.job("PyTorchJob", Master=1))
    found = traincrew("run", job, "--data", str(tmp_path / "fresh"), KUBECONFIG=str(path))
    assert found.returncode == 1
    assert not (tmp_path / "fresh").exists()
    made = traincrew("run", "--kind", "JAXJob", "--", "true", KUBECONFIG=str(path))
    assert (made.returncode, "--image" in made.stderr) == (2, True)


HEAVY = ("aiohttp", "yaml", "msgspec", "cryptography", "traincrew.kinds", "traincrew.embedded.apiserver.endpoints")


@pytest.mark.parametrize("verb", ["", "run", "ls", "logs", "why", "describe", "scale", "suspend", "resume", "delete", "exec"])
def test_help_imports_no_heavy_modules(verb: str) -> None:
    script = (
        "import sys\nfrom traincrew.cli.main import traincrew\n"
        f"try: traincrew({[verb, '--help'] if verb else ['--help']!r})\nexcept SystemExit: pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stderr == "[]\n"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(verb: str) -> None:
    assert re.search(rf"^  (?:\S.*[|(\"] ?)?traincrew {verb}\b", traincrew(verb, "--help").stdout, re.MULTILINE)


def test_an_unknown_command_of_a_group_is_an_error_with_a_suggestion() -> None:
    found = traincrew("image", "ls")
    assert (found.returncode, found.stderr) == (
        2,
        "error: no such command 'ls'. Did you mean 'list'? Run `traincrew image --help` for the arguments.\n",
    )


async def test_a_restart_of_the_api_server_loses_and_repeats_no_line(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    running = await job_cluster.start("run", write_manifests(tmp_path, manifests.job("PyTorchJob", Master=1)))
    await job_cluster.run("j-master-0")
    await job_cluster.write_log("j-master-0", "one", "two")
    assert await running.lines(2) == ["[master-0] one\n", "[master-0] two\n"]
    await job_cluster.do(job_cluster.cluster.down)
    await job_cluster.write_log("j-master-0", "three")
    await job_cluster.do(job_cluster.cluster.up)
    assert await running.line() == "[master-0] three\n"
    await job_cluster.write_log("j-master-0", "four")
    assert await running.line() == "[master-0] four\n"
    await job_cluster.succeed("j-master-0")
    assert (await running.end())[:2] == (0, "")


async def test_credentials_that_the_api_server_rejects_are_named(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    """As those of a kubeconfig whose token has expired."""
    path = tmp_path / "expired"
    path.write_text(re.sub(r"token: .*", "token: expired", (job_cluster.cluster.data / "kubeconfig").read_text()))
    for verb in ("ls", "top", "why"):
        code, _, err = await job_cluster(verb, "--kubeconfig", str(path))
        assert (code, err.startswith(f"error: the API server rejects the credentials in {path}: Unauthorized. ")) == (1, True), (
            err
        )
        assert "If its token has expired, log in again" in err

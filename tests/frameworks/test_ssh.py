"""The settings of sshd and ssh that images for v2beta1 MPIJobs see, with Debian's sshd in namespaces of its own."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

import pytest
from tools.frameworks import debian, ssh
from tools.frameworks.commands import BuildFailed

pytestmark = pytest.mark.frameworks

_POD = """set -e
ip link set lo up
mount -t tmpfs -o mode=1777 none /dev/shm
{mounts}
{run}
"""
_TRY = """log=/dev/shm/sshd.log
/usr/sbin/sshd -De {more} 2>$log & server=$!
trap 'kill $server' EXIT
for attempt in $(seq 100); do
  if ssh -i {key} 127.0.0.1 'echo reached $(id -un) $NAMED ${{PATH%%:*}}'; then exit 0; fi
  sleep 0.1
done
cat $log; exit 1"""


@pytest.fixture(autouse=True)
def cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINCREW_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def keys(tmp_path: pathlib.Path) -> pathlib.Path:
    """As the operator mounts them; owned by root, so that other users may read them."""
    folder = tmp_path / "keys"
    folder.mkdir()
    subprocess.run(["ssh-keygen", "-q", "-t", "rsa", "-b", "2048", "-N", "", "-f", str(folder / "id_rsa")], check=True)
    shutil.copy(folder / "id_rsa.pub", folder / "authorized_keys")
    return folder


@pytest.mark.skipif(os.geteuid() != 0, reason="sshd in namespaces of its own needs root here")
def test_root_reaches_a_worker_by_the_jobs_key(keys: pathlib.Path) -> None:
    said = _in_a_pod(keys, "/root/.ssh", _TRY.format(more="", key="/root/.ssh/id_rsa"))
    assert said == "reached root here /somewhere/mpi/bin"


@pytest.mark.skipif(os.geteuid() != 0, reason="sshd in namespaces of its own needs root here")
def test_mpiuser_reaches_a_worker_that_mpiuser_runs(keys: pathlib.Path) -> None:
    for key in keys.iterdir():
        key.chmod(0o644)
    script = _TRY.format(more="-f /home/mpiuser/.sshd_config", key="/home/mpiuser/.ssh/id_rsa")
    run = f"setpriv --reuid 1000 --regid 1000 --clear-groups sh -c {_quoted(script)}"
    assert _in_a_pod(keys, "/home/mpiuser/.ssh", run) == "reached mpiuser here /somewhere/mpi/bin"


def _in_a_pod(keys: pathlib.Path, where: str, run: str) -> str:
    provided = {path: source for source, path in ssh.provide(pathlib.Path("/somewhere/mpi"), {"NAMED": "here"})}
    # Mounted first what comes from the machine's folders; then those are hidden, so that nothing is made in them.
    in_etc = {path: source for path, source in provided.items() if path.startswith("/etc/")}
    lines = ["mount -t tmpfs none /etc/ssh", "touch " + " ".join(path for path in in_etc if path != "/etc/passwd")]
    lines += [f"mount --bind -o ro {source} {path}" for path, source in in_etc.items()]
    lines += ["mkdir /dev/shm/pod", "mkdir /dev/shm/pod/keys", f"mount --bind {keys} /dev/shm/pod/keys"]
    lines += [f"cp {provided['/home/mpiuser/.sshd_config']} /dev/shm/pod"]
    lines += [f"mount -t tmpfs none {folder}" for folder in ("/root", "/home", "/run")]
    lines += ["mkdir -p /run/sshd /home/mpiuser", "cp /dev/shm/pod/.sshd_config /home/mpiuser"]
    lines += [f"mkdir -p {where}", f"mount --bind /dev/shm/pod/keys {where}"]
    script = _POD.format(mounts="\n".join(lines), run=run)
    command = ["unshare", "--mount", "--net", "--uts", "sh", "-c", script]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout.strip()


def _quoted(script: str) -> str:
    return "'" + script.replace("'", "'\\''") + "'"


def test_without_root_sshd_is_unpacked_from_its_package(tmp_path: pathlib.Path) -> None:
    if not shutil.which("apt-get"):
        pytest.skip("no apt-get here")
    prefix = debian.unpack(ssh.PACKAGES, tmp_path / "prefix")
    assert os.access(prefix / "usr/sbin/sshd", os.X_OK)
    assert list(prefix.rglob("libwrap.so.0"))
    assert debian.unpack(("is-not-asked-for-again",), tmp_path / "prefix") == prefix


def test_packages_that_cannot_be_downloaded_are_named(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildFailed, match="openssh-server libwrap0"):
        debian.unpack(ssh.PACKAGES, tmp_path / "prefix")

"""Runs the tests of this directory in namespaces of their own, and removes everything that they leave.

    python -m tests.kubelet.run tests/kubelet [PYTEST ARGUMENT...]

Network, mounts and processes have namespaces of their own: interfaces, iptables rules, mounts and containers end with the run,
even if it is killed. Only cgroups and files outlive it; they have names of their own, and are removed here.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

CGROUPS = pathlib.Path("/sys/fs/cgroup")
WORK, CGROUP = "TRAINCREW_KUBELET_WORK", "TRAINCREW_KUBELET_CGROUP"


def main(words: list[str]) -> int:
    if os.geteuid() != 0:
        print("make test-kubelet needs root: the kubelet mounts volumes and creates cgroups", file=sys.stderr)
        return 2
    # On a disk: overlay file systems and images do not belong into memory.
    work = pathlib.Path(tempfile.mkdtemp(prefix="traincrew-kubelet-", dir="/var/tmp"))
    group = work.name
    for parent in hierarchies():
        _create_cgroup(parent / group)
    environment = {**os.environ, WORK: str(work), CGROUP: f"/{group}"}
    namespaces = ["unshare", "--net", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "--mount-proc"]
    tests = [sys.executable, "-m", "pytest", "-q", *words]
    try:
        return subprocess.run([*namespaces, *tests], env=environment, check=False).returncode
    finally:
        for parent in hierarchies():
            _remove_cgroup(parent / group)
        shutil.rmtree(work)


def hierarchies() -> list[pathlib.Path]:
    """The roots of the cgroup hierarchies: one of version 2, or one for each controller of version 1."""
    if (CGROUPS / "cgroup.controllers").exists():
        return [CGROUPS]
    return sorted(path for path in CGROUPS.iterdir() if (path / "cgroup.procs").exists() and not path.is_symlink())


def _create_cgroup(path: pathlib.Path) -> None:
    path.mkdir()
    for name in ("cpuset.cpus", "cpuset.mems"):
        if (path / name).exists() and not (path / name).read_text().strip():
            (path / name).write_text((path.parent / name).read_text())


def _remove_cgroup(path: pathlib.Path) -> None:
    """Its processes were killed with their PID namespace; the kernel may need a moment."""
    deadline = time.monotonic() + 30
    for folder in [*sorted((each for each in path.rglob("*") if each.is_dir()), reverse=True), path]:
        while True:
            try:
                folder.rmdir()
                break
            except FileNotFoundError:
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

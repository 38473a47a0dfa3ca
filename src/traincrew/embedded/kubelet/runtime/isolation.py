"""Probes which isolation levels this machine allows: a trial process does what the start of a pod does."""

from __future__ import annotations

import contextlib
import errno
import os
import pathlib
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

import traincrew
from traincrew.embedded.file_trees import removal
from traincrew.embedded.kubelet.runtime import syscalls, user_namespace
from traincrew.embedded.kubelet.runtime.rootfs import rootfs
from traincrew.embedded.kubelet.runtime.spec import ContainerConfig, Isolation, PodSandboxConfig

_SECONDS = 30
_START = """import sys
sys.path[:0] = [sys.argv[1]]
from traincrew.embedded.kubelet.runtime import isolation
isolation.trial_main(*sys.argv[2:])"""
_NAMESPACES = {
    "mount": syscalls.CLONE_NEWNS,
    "network": syscalls.CLONE_NEWNET,
    "IPC": syscalls.CLONE_NEWIPC,
    "UTS": syscalls.CLONE_NEWUTS,
    "PID": syscalls.CLONE_NEWPID,
}


@dataclass(frozen=True)
class IsolationProbe:
    isolation: Isolation
    unavailable: dict[Isolation, str] = field(default_factory=dict)
    """Why each better level is not available."""


def probe(directory: str = "") -> IsolationProbe:
    """The best level that works. directory: where the overlay layers of pods will be."""
    unavailable: dict[Isolation, str] = {}
    for level in Isolation:
        error = check(level, directory)
        if not error:
            return IsolationProbe(level, unavailable)
        unavailable[level] = error
    return IsolationProbe(Isolation.NONE, unavailable)


def check(level: Isolation, directory: str = "") -> str:
    """Empty if the level works; else the reason and the remedy."""
    if level is Isolation.NONE:
        return ""
    if level is Isolation.ROOT and os.geteuid() != 0:
        return "needs root"
    with tempfile.TemporaryDirectory(prefix="traincrew-trial-", dir=directory or None, ignore_cleanup_errors=True) as scratch:
        return _run(level, scratch)


def trial_main(level: str, scratch: str) -> None:
    """Main function of the trial process: prints the reason of a failure."""
    try:
        _try(Isolation(level), scratch)
    except OSError as error:
        print(explain(error, Isolation(level)), flush=True)


def explain(error: OSError, level: Isolation) -> str:
    message = f"{error} [{errno.errorcode.get(error.errno, '?')}]" if error.errno else str(error)
    return f"{message}: {_remedy(error, level)}"


def _run(level: Isolation, scratch: str) -> str:
    source = str(pathlib.Path(traincrew.__file__).parent.parent)
    command = [sys.executable, "-I", "-S", "-c", _START, source, str(level), scratch]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired) as failure:
        return f"the trial did not finish: {failure}"
    if done.returncode and not done.stdout:
        return f"the trial failed: {done.stderr.strip()[-500:] or done.returncode}"
    return done.stdout.strip()


def _try(level: Isolation, scratch: str) -> None:
    if level is Isolation.USER:
        user_namespace.enter()
    for name, flag in _NAMESPACES.items():
        try:
            syscalls.unshare(flag)
        except OSError as error:
            raise OSError(error.errno, f"cannot create a {name} namespace: {error.strerror}") from None
    syscalls.sethostname("trial")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _container_init(level, scratch, writing)
    os.close(writing)
    with open(reading, encoding="utf-8") as report:
        number, _, message = report.read().partition(" ")
    status = os.waitpid(child, 0)[1]
    # In the namespace: its root may own files of the trial.
    with contextlib.suppress(OSError):
        removal.remove_tree(f"{scratch}/pod")
    if message or status:
        raise OSError(int(number or 0), message or f"the trial's container ended with {os.waitstatus_to_exitcode(status)}")


def _container_init(level: Isolation, scratch: str, writing: int) -> None:
    pod = PodSandboxConfig("trial", "trial", "trial", "trial", f"{scratch}/pod")
    container = ContainerConfig("trial", 0, (), {}, "")
    try:
        syscalls.unshare(syscalls.CLONE_NEWNS)
        rootfs.build(pod, container, level)
        # Without overlays the host's directories are read-only, which is not enough for a pod.
        os.mkdir("/etc/traincrew-trial")
    except OSError as error:
        number = error.errno or getattr(error.__cause__, "errno", None) or 0
        os.write(writing, f"{number} {error.strerror or error}".encode())
    finally:
        os._exit(0)


def _remedy(error: OSError, level: Isolation) -> str:
    if level is Isolation.ROOT:
        return "root lacks capabilities here. Run the surrounding container with --privileged."
    if error.errno == errno.ENOSPC:
        return "the limit of user namespaces is reached. Raise the sysctl user.max_user_namespaces."
    if error.errno in (errno.EPERM, errno.EACCES):
        return (
            "unprivileged user namespaces are disabled. Set the sysctl kernel.apparmor_restrict_unprivileged_userns=0 or "
            "kernel.unprivileged_userns_clone=1. Overlays need Linux 5.11."
        )
    return "the kernel may be too old, or built without user namespaces or overlayfs"

"""Which level of isolation this machine allows: found by doing, in a process of its own, what a pod's start does."""

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
from traincrew.embedded.kubelet.runtime import syscalls, tree_removal, user_namespace
from traincrew.embedded.kubelet.runtime.rootfs import rootfs
from traincrew.embedded.kubelet.runtime.spec import Container, Isolation, Pod

_SECONDS = 30
_START = """import sys
sys.path[:0] = [sys.argv[1]]
from traincrew.embedded.kubelet.runtime import isolation
isolation.trial_main(*sys.argv[2:])"""
_SPACES = {
    "mount": syscalls.CLONE_NEWNS,
    "network": syscalls.CLONE_NEWNET,
    "IPC": syscalls.CLONE_NEWIPC,
    "host name": syscalls.CLONE_NEWUTS,
    "process": syscalls.CLONE_NEWPID,
}


@dataclass(frozen=True)
class ProbeResult:
    isolation: Isolation
    refusals: dict[Isolation, str] = field(default_factory=dict)
    """Why the better levels cannot be had."""


def probe(directory: str = "") -> ProbeResult:
    """The best level that works; directory: where pods are going to have their layers."""
    refusals: dict[Isolation, str] = {}
    for level in Isolation:
        refusal = check(level, directory)
        if not refusal:
            return ProbeResult(level, refusals)
        refusals[level] = refusal
    return ProbeResult(Isolation.NONE, refusals)


def check(level: Isolation, directory: str = "") -> str:
    """Empty if the level works, else why it does not and what would help."""
    if level is Isolation.NONE:
        return ""
    if level is Isolation.ROOT and os.geteuid() != 0:
        return "needs root"
    with tempfile.TemporaryDirectory(prefix="traincrew-trial-", dir=directory or None, ignore_cleanup_errors=True) as scratch:
        return _run(level, scratch)


def trial_main(level: str, scratch: str) -> None:
    """The trial's process: says on stdout what went wrong, or nothing."""
    try:
        _try(Isolation(level), scratch)
    except OSError as refusal:
        print(explain(refusal, Isolation(level)), flush=True)


def explain(refusal: OSError, level: Isolation) -> str:
    words = f"{refusal} [{errno.errorcode.get(refusal.errno, '?')}]" if refusal.errno else str(refusal)
    return f"{words}: {_remedy(refusal, level)}"


def _run(level: Isolation, scratch: str) -> str:
    source = str(pathlib.Path(traincrew.__file__).parent.parent)
    command = [sys.executable, "-I", "-S", "-c", _START, source, str(level), scratch]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired) as failure:
        return f"the trial did not come to an end: {failure}"
    if done.returncode and not done.stdout:
        return f"the trial failed: {done.stderr.strip()[-500:] or done.returncode}"
    return done.stdout.strip()


def _try(level: Isolation, scratch: str) -> None:
    if level is Isolation.USER:
        user_namespace.enter()
    for name, flag in _SPACES.items():
        try:
            syscalls.unshare(flag)
        except OSError as refusal:
            raise OSError(refusal.errno, f"no {name} namespace: {refusal.strerror}") from None
    syscalls.sethostname("trial")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _first_process(level, scratch, writing)
    os.close(writing)
    with open(reading, encoding="utf-8") as told:
        number, _, words = told.read().partition(" ")
    status = os.waitpid(child, 0)[1]
    # With the rights of the namespace: what the trial wrote may belong to its root.
    with contextlib.suppress(OSError):
        tree_removal.remove_tree(f"{scratch}/pod")
    if words or status:
        raise OSError(int(number or 0), words or f"the trial's container ended with {os.waitstatus_to_exitcode(status)}")


def _first_process(level: Isolation, scratch: str, writing: int) -> None:
    pod = Pod("trial", "trial", "trial", "trial", f"{scratch}/pod")
    container = Container("trial", 0, (), {}, "")
    try:
        syscalls.unshare(syscalls.CLONE_NEWNS)
        rootfs.build(pod, container, level)
        # Where overlays are refused, directories of the host are shown read-only: too little for a pod.
        os.mkdir("/etc/traincrew-trial")
    except OSError as refusal:
        number = refusal.errno or getattr(refusal.__cause__, "errno", None) or 0
        os.write(writing, f"{number} {refusal.strerror or refusal}".encode())
    finally:
        os._exit(0)


def _remedy(refusal: OSError, level: Isolation) -> str:
    if level is Isolation.ROOT:
        return "root lacks rights here; a container around it needs all capabilities and no system-call filter (--privileged)"
    if refusal.errno == errno.ENOSPC:
        return "the limit of user namespaces is reached; raise the sysctl user.max_user_namespaces"
    if refusal.errno in (errno.EPERM, errno.EACCES):
        return (
            "ordinary users get no full user namespace here; an administrator allows it with sysctl "
            "kernel.apparmor_restrict_unprivileged_userns=0 or kernel.unprivileged_userns_clone=1, and overlays need Linux 5.11"
        )
    return "the kernel may be too old, or built without user namespaces or overlays"

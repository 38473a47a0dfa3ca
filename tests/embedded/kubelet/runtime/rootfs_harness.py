"""Runs a shell in a rootfs with credentials, without a shim. Level USER uses an ordinary user, even if the tests run as root."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator

import pytest

from traincrew.embedded.file_trees import removal
from traincrew.embedded.kubelet.runtime import syscalls, user_namespace
from traincrew.embedded.kubelet.runtime.container import credentials
from traincrew.embedded.kubelet.runtime.rootfs import rootfs
from traincrew.embedded.kubelet.runtime.spec import ContainerConfig, Isolation, Mount, PodSandboxConfig

ORDINARY_UID = 20017
"""A user id without an entry in /etc/passwd."""

_SPACES = syscalls.CLONE_NEWNS | syscalls.CLONE_NEWNET | syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWUTS


@dataclasses.dataclass(frozen=True)
class ProcessResult:
    code: int
    out: str

    @property
    def words(self) -> list[str]:
        return self.out.split()


def nothing() -> None: ...


@dataclasses.dataclass
class RootfsHarness:
    base: pathlib.Path
    """A directory of the host outside of /tmp, which containers do not see."""
    isolation: Isolation
    first: Callable[[], None] = nothing
    """Called first, with the privileges of the test, in a mount namespace of the harness."""

    @property
    def data(self) -> pathlib.Path:
        return self.base / "data"

    @property
    def directory(self) -> pathlib.Path:
        return self.data / "node/pods/one"

    def volume(self, name: str = "v") -> pathlib.Path:
        path = self.directory / "volumes" / name
        path.mkdir(parents=True, exist_ok=True)
        self.give(self.data)
        return path

    def give(self, path: pathlib.Path) -> None:
        """Changes the owner to the user of the pods."""
        if self.isolation is Isolation.USER and os.geteuid() == 0:
            for each in (path, *path.rglob("*")):
                os.chown(each, ORDINARY_UID, ORDINARY_UID, follow_symlinks=False)

    def pod(self, **values: object) -> PodSandboxConfig:
        pod = PodSandboxConfig("one", "default", "pod", "pod", str(self.directory), masked=(str(self.data),))
        return dataclasses.replace(pod, **values)  # type: ignore[arg-type]

    def layer(self) -> pathlib.Path:
        return self.directory / "layers/main/0"

    def run(self, script: str, *mounts: Mount, entrances: tuple[int, ...] = (), **values: object) -> ProcessResult:
        """values: fields of the container. An error of the rootfs gives exit code 200 and the reason."""
        container = ContainerConfig("main", 0, (), {}, "", mounts=mounts)
        container = dataclasses.replace(container, **values)  # type: ignore[arg-type]

        def body() -> None:
            mappings = credentials.read_id_mappings()
            rootfs.build(self.pod(), container, self.isolation, entrances)
            credentials.apply(container, self.isolation, mappings)
            os.execve("/bin/sh", ["sh", "-c", f"exec 2>&1\n{script}"], {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})

        return self.perform(lambda: run_as_pid_1(body))

    def beside(self, script: str, pod: PodSandboxConfig, attempt: int, memory: int) -> None:
        """Runs one of several containers of a pod, within a body of `perform`."""
        container = ContainerConfig("main", attempt, (), {}, "")

        def body() -> None:
            rootfs.build(pod, container, self.isolation, shared=rootfs.SharedMounts(memory))
            os.execv("/bin/sh", ["sh", "-c", f"exec 2>&1\n{script}"])

        pid = os.fork()
        if pid == 0:
            run_as_pid_1(body)
        os.waitpid(pid, 0)

    def perform(self, body: Callable[[], None]) -> ProcessResult:
        """Runs the body in a process of the user of the pods, in new namespaces, and returns its output."""

        def prepared() -> None:
            if os.geteuid() == 0:
                syscalls.unshare(syscalls.CLONE_NEWNS)
                syscalls.mount("", "/", "", syscalls.MS_REC | syscalls.MS_PRIVATE)
                self.first()
            drop_root(self.isolation)
            if self.isolation is Isolation.USER:
                user_namespace.enter()
            syscalls.unshare(_SPACES)
            body()

        return run_in_fork(prepared)


def drop_root(isolation: Isolation) -> None:
    if isolation is Isolation.USER and os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(ORDINARY_UID, ORDINARY_UID, ORDINARY_UID)
        os.setresuid(ORDINARY_UID, ORDINARY_UID, ORDINARY_UID)
        syscalls.set_dumpable(True)


def run_in_fork(body: Callable[[], None]) -> ProcessResult:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        _child(body, writing)
    os.close(writing)
    with open(reading, errors="replace") as output:
        out = output.read()
    return ProcessResult(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), out)


def _child(body: Callable[[], None], writing: int) -> None:
    code = 201
    try:
        os.dup2(writing, 1)
        # pytest has replaced it.
        sys.stdout = os.fdopen(1, "w", closefd=False)
        body()
        sys.stdout.flush()
        code = 0
    except (rootfs.RootfsError, credentials.CredentialsError) as error:
        os.write(1, str(error.strerror or error).encode())
        code = 200
    except BaseException:
        os.write(1, traceback.format_exc().encode())
    finally:
        os._exit(code)


def run_as_pid_1(body: Callable[[], None]) -> None:
    """Never returns."""
    syscalls.unshare(syscalls.CLONE_NEWPID)
    pid = os.fork()
    if pid == 0:
        syscalls.unshare(syscalls.CLONE_NEWNS)
        _child(body, 1)
    os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 0xFF)


@contextlib.contextmanager
def rootfs_harness(isolation: Isolation, where: str = "/srv") -> Iterator[RootfsHarness]:
    if os.geteuid() != 0:
        # The ordinary user of a test run by root (test_ordinary_user) can write to its own directory only.
        where = os.environ.get("TMPDIR", "/tmp")  # noqa: S108 -- a new directory is created in it
    if isolation is Isolation.ROOT and os.geteuid() != 0:
        pytest.skip("level root needs root")
    base = pathlib.Path(tempfile.mkdtemp(prefix="traincrew-test-", dir=where))
    base.chmod(0o755)
    harness = RootfsHarness(base, isolation)
    harness.directory.mkdir(parents=True)
    harness.data.chmod(0o700)
    (harness.data / "kubeconfig").write_text("secret")
    harness.give(harness.data)
    try:
        yield harness
        assert str(base) not in pathlib.Path("/proc/self/mountinfo").read_text()
    finally:
        removal.remove_tree(str(base))

"""The first process of a container: makes its root, starts the command, passes signals on, reaps, and records how it ended."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import select
import signal
import socket
from collections.abc import Callable, Collection

from traincrew.embedded.kubelet.runtime import protocol, spec, syscalls
from traincrew.embedded.kubelet.runtime.cgroups import entry
from traincrew.embedded.kubelet.runtime.container import launch
from traincrew.embedded.kubelet.runtime.rootfs import rootfs
from traincrew.embedded.kubelet.runtime.shim import fork

_PASSED_ON = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGWINCH,
    signal.SIGALRM,
    signal.SIGCONT,
)


@dataclasses.dataclass(frozen=True)
class InitConfig:
    pod: spec.Pod
    order: launch.ProcessSpec
    control: socket.socket
    """To the shim, for as long as both live."""
    status: socket.socket
    """To the shim, until the command runs."""
    records: int
    """The directory of exit.json."""
    alone: bool
    """Whether a PID namespace ends with this process; otherwise what is left has to be looked for."""
    mounts: int = -1
    """A mount namespace to enter instead of making one: this is not the container's own command but one beside it."""
    memory: int = -1
    """What keeps the pod's shared memory."""

    def descriptors(self) -> list[int]:
        own = (self.control.fileno(), self.status.fileno(), self.records, self.mounts, self.memory)
        return [fd for fd in (*own, *self.order.stdio, *self.order.groups) if fd >= 0]


def main(duty: InitConfig) -> None:
    fork.close_other_descriptors(duty.descriptors())
    os.setsid()
    if not duty.control.recv(1):
        return
    if duty.alone:
        # Only now that the shim has become the parent. Elsewhere the end of `control` tells, with time to kill the others.
        syscalls.die_with_parent(signal.SIGKILL)
    woken = _hear()
    try:
        child = _start(duty)
    except launch.Refused as refusal:
        launch.report_failure(duty.status, refusal.reason, refusal.message)
        return
    except (OSError, rootfs.RootfsError) as error:
        launch.report_failure(duty.status, "CreateContainerError", f"failed to create the container: {error}")
        return
    for fd in (*duty.order.stdio, *duty.order.groups, duty.memory, duty.status.detach()):
        if fd >= 0:
            os.close(fd)
    Init(duty, child, woken).run()


def _hear() -> int:
    woken, waking = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    for number in (*_PASSED_ON, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    return woken


def _start(duty: InitConfig) -> int:
    if duty.mounts >= 0:
        syscalls.setns(duty.mounts, syscalls.CLONE_NEWNS)
    elif duty.order.isolation == spec.Isolation.NONE:
        _check_mounts(duty.order.container.mounts)
    else:
        syscalls.unshare(syscalls.CLONE_NEWNS)
        rootfs.build(duty.pod, duty.order.container, duty.order.isolation, duty.order.groups, duty.memory)
        with open("/proc/self/ns/mnt", "rb") as mounts, open("/proc/self/ns/pid", "rb") as processes:
            fds = [mounts.fileno(), processes.fileno()]
            socket.send_fds(duty.status, [protocol.encode({"namespaces": True}, fds)], fds)
    if not duty.alone:
        syscalls.adopt_orphans()
    return fork.fork_child(lambda: launch.exec_process(duty.order, duty.status), entry.clone_target(duty.order.groups))


def _check_mounts(mounts: tuple[spec.Mount, ...]) -> None:
    """Without namespaces a path is what it is on the host."""
    for mount in mounts:
        with contextlib.suppress(OSError):
            if mount.kind == "bind" and os.path.samefile(mount.path, mount.source):
                continue
        if not mount.optional:
            raise launch.Refused("StartError", _UNMOUNTABLE.format(path=mount.path))


_UNMOUNTABLE = (
    "unable to start container process: nothing can be mounted at {path}: without namespaces (--isolation none) paths are the "
    "host's, and only a host path at the very same path can be had"
)


class Init:
    def __init__(self, duty: InitConfig, child: int, woken: int) -> None:
        self._duty, self._child, self._woken = duty, child, woken
        self._control = duty.control
        self._ended: int | None = None
        self._childless = False

    def run(self) -> None:
        syscalls.set_dumpable(False)
        self._reap()
        self._wait(lambda: self._ended is not None)
        self._say({"ended": os.waitstatus_to_exitcode(self._ended or 0)})
        if self._duty.records < 0:
            # What a command left behind goes on, with somebody to reap it, until the container ends.
            self._wait(lambda: self._childless)
            return
        self._record()
        self._kill_all()

    def _wait(self, done: Callable[[], bool]) -> None:
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)
        poll.register(self._control, select.POLLIN)
        while not done():
            for fd, _ in poll.poll():
                if fd == self._woken:
                    self._signalled()
                else:
                    self._told()

    def _signalled(self) -> None:
        for number in os.read(self._woken, 4096):
            if number != signal.SIGCHLD:
                self._pass_on(number)
        self._reap()

    def _pass_on(self, number: int) -> None:
        if self._ended is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._child, number)

    def _reap(self) -> None:
        try:
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == self._child:
                    self._ended = ended[1]
        except ChildProcessError:
            self._childless = True

    def _told(self) -> None:
        data = self._control.recv(protocol.CHUNK_BYTES)
        if not data:
            self._give_up()
        order = json.loads(data)
        if "signal" in order:
            self._pass_on(order["signal"])
        elif "kill" in order:
            self._kill_everybody()

    def _say(self, message: protocol.Message) -> None:
        try:
            self._control.send(protocol.encode(message))
        except OSError:
            self._give_up()

    def _record(self) -> None:
        """Durable before anything else happens. What only the shim can know of it, the memory limit above all, the shim says."""
        while True:
            data = self._control.recv(protocol.CHUNK_BYTES)
            if not data:
                self._give_up()
            order = json.loads(data)
            if "record" in order:
                break
        protocol.write_atomically(self._duty.records, "exit.json", json.dumps(order["record"]).encode())
        self._say({"recorded": True})

    def _give_up(self) -> None:
        """Without its shim a container does not go on."""
        self._kill_all()
        os._exit(1)

    def _kill_everybody(self) -> None:
        if self._duty.alone:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
            return
        for pid in descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _kill_all(self) -> None:
        """Until nobody is left: one that forks while it is being killed may need another round."""
        with contextlib.suppress(ChildProcessError):
            while True:
                self._kill_everybody()
                os.waitpid(-1, 0)


def descendants(pid: int, but: Collection[int] = ()) -> list[int]:
    """Children and theirs, those first whose end would orphan others; without some of the children, and theirs."""
    children = dict[int, list[int]]()
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
                children.setdefault(parent, []).append(int(name))
    found = [each for each in children.get(pid, ()) if each not in but]
    for each in found:
        found += children.get(each, ())
    return found

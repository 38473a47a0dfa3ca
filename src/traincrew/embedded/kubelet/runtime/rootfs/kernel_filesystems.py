"""/proc, /sys and /dev of a container."""

from __future__ import annotations

import contextlib
import errno
import os
import stat

from traincrew.embedded.kubelet.runtime import syscalls
from traincrew.embedded.kubelet.runtime.cgroups import entry
from traincrew.embedded.kubelet.runtime.rootfs import shared_memory
from traincrew.embedded.kubelet.runtime.rootfs.mounts import bind, mount_target, restrict, tmpfs
from traincrew.embedded.kubelet.runtime.rootfs.root_directory import RootDirectory
from traincrew.embedded.kubelet.runtime.spec import Container, Pod

_SAFE = syscalls.MS_NOSUID | syscalls.MS_NODEV | syscalls.MS_NOEXEC

_MASKED = (
    *("/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/sched_debug"),
    *("/proc/scsi", "/proc/timer_list", "/proc/timer_stats", "/sys/devices/virtual/powercap", "/sys/firmware"),
)
_READ_ONLY = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")

_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"}


def mount_proc(root: RootDirectory, pod: Pod, container: Container) -> None:
    with mount_target(root, "/proc") as target:
        try:
            syscalls.mount("proc", target, "proc", _SAFE)
        except OSError as refusal:
            # The host's process namespace does not belong to a user namespace, but is what was asked for.
            if not pod.host_pid or refusal.errno != errno.EPERM:
                raise
            syscalls.mount("/proc", target, "", syscalls.MS_BIND | syscalls.MS_REC)
    if container.privileged:
        return
    for path in _READ_ONLY:
        with contextlib.suppress(FileNotFoundError), mount_target(root, path) as target:
            syscalls.mount(target, target, "", syscalls.MS_BIND)
            restrict(root, path, syscalls.MOUNT_ATTR_RDONLY)


def mount_sys(root: RootDirectory, container: Container, hierarchies: dict[str, str]) -> None:
    """hierarchies: by place below /sys/fs/cgroup ("" for the unified one) the directory of the container's own group."""
    read_only = 0 if container.privileged else syscalls.MS_RDONLY
    try:
        with mount_target(root, "/sys") as target:
            syscalls.mount("sysfs", target, "sysfs", _SAFE | read_only)
    except OSError as refusal:
        # Its network belongs to the host: so does its view of it.
        if refusal.errno != errno.EPERM:
            raise
        bind(root, "/sys", "/sys", syscalls.MOUNT_ATTR_RDONLY)
        return
    _show_groups(root, hierarchies, container.privileged)


def mask(root: RootDirectory) -> None:
    """What tells of the host or changes it, and is no business of a container's."""
    for path in _MASKED:
        with contextlib.suppress(FileNotFoundError):
            _mask_one(root, path)


def mount_dev(root: RootDirectory, pod: Pod, container: Container, memory: int) -> None:
    """Device files are the host's, one by one. /dev itself takes none: one made there by mknod opens nothing.
    memory: the pod's /dev/shm, see sharedmemory.taken."""
    tmpfs(root, "/dev", "mode=755,size=1m", syscalls.MS_NOEXEC)
    wanted = [f"/dev/{name}" for name in _DEVICES] + list(container.devices)
    if container.privileged:
        wanted += _all_devices(set(wanted))
    for path in wanted:
        os.close(root.open(path, make="file"))
        bind(root, path, path)
    with mount_target(root, "/dev") as there:
        for name, target in _LINKS.items():
            os.symlink(target, f"{there}/{name}")
        os.symlink("pts/ptmx", f"{there}/ptmx")
    _mount_terminals(root)
    _mount_shared_memory(root, pod, memory)


def _show_groups(root: RootDirectory, hierarchies: dict[str, str], privileged: bool) -> None:
    attributes = 0 if privileged else syscalls.MOUNT_ATTR_RDONLY
    if "" in hierarchies:
        bind(root, hierarchies[""], "/sys/fs/cgroup", attributes)
    elif hierarchies:
        tmpfs(root, "/sys/fs/cgroup", "mode=755,size=64k", syscalls.MS_NOEXEC)
        for name, directory in hierarchies.items():
            os.close(root.open(f"/sys/fs/cgroup/{name}", make="directory"))
            bind(root, directory, f"/sys/fs/cgroup/{name}", attributes)
        restrict(root, "/sys/fs/cgroup", attributes)


def _mask_one(root: RootDirectory, path: str) -> None:
    descriptor = root.open(path)
    is_directory = stat.S_ISDIR(os.fstat(descriptor).st_mode)
    os.close(descriptor)
    if is_directory:
        tmpfs(root, path, "mode=555,size=0,nr_inodes=1", syscalls.MS_RDONLY | syscalls.MS_NOEXEC)
    else:
        bind(root, "/dev/null", path)


def _all_devices(known: set[str]) -> list[str]:
    found = []
    for folder, _, names in os.walk("/dev"):
        if folder in ("/dev/pts", "/dev/shm", "/dev/mqueue"):  # noqa: S108 -- left out
            continue
        paths = [os.path.join(folder, name) for name in names]
        found += [path for path in paths if path not in known and path != "/dev/ptmx" and _is_device(path)]
    return found


def _is_device(path: str) -> bool:
    mode = os.lstat(path).st_mode
    return stat.S_ISCHR(mode) or stat.S_ISBLK(mode)


def _mount_terminals(root: RootDirectory) -> None:
    os.close(root.open("/dev/pts", make="directory"))
    options = "newinstance,ptmxmode=0666,mode=0620"
    with mount_target(root, "/dev/pts") as target:
        try:
            syscalls.mount("devpts", target, "devpts", syscalls.MS_NOSUID | syscalls.MS_NOEXEC, options + ",gid=5")
        except OSError as refusal:
            # Without subordinate ids the group of terminals has no name.
            if refusal.errno != errno.EINVAL:
                raise
            syscalls.mount("devpts", target, "devpts", syscalls.MS_NOSUID | syscalls.MS_NOEXEC, options)


def _mount_shared_memory(root: RootDirectory, pod: Pod, memory: int) -> None:
    for name in ("shm", "mqueue"):
        os.close(root.open(f"/dev/{name}", make="directory"))
    if pod.host_ipc:
        bind(root, "/dev/shm", "/dev/shm")  # noqa: S108 -- asked for
    elif memory >= 0:
        target = root.open("/dev/shm")  # noqa: S108 -- the pod's own
        syscalls.attach_mount(memory, target)
        os.close(target)
    else:
        shared_memory.mount(root, pod)
    # A kernel may come without it, and the host's belongs to no user namespace.
    with contextlib.suppress(OSError), mount_target(root, "/dev/mqueue") as target_path:
        syscalls.mount("mqueue", target_path, "mqueue", _SAFE)


def cgroup_directories(ways: tuple[int, ...]) -> dict[str, str]:
    """By place below /sys/fs/cgroup ("" for the unified hierarchy) the directories that `entrances` lead to."""
    found: dict[str, str] = {}
    for way in ways:
        directory = entry.directory(way)
        if os.path.exists(f"{directory}/cgroup.events"):
            found.setdefault("", directory)
        else:
            name = next((part for part in directory.split("/")[4:5]), "")
            found[name] = directory
    return found if len(found) == 1 else {name: directory for name, directory in found.items() if name}

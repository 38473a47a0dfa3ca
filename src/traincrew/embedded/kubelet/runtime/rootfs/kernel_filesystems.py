"""/proc, /sys and /dev of a container."""

from __future__ import annotations

import contextlib
import errno
import os
import stat

from traincrew.embedded.kubelet.runtime import syscalls
from traincrew.embedded.kubelet.runtime.cgroups import entry
from traincrew.embedded.kubelet.runtime.rootfs import shared_memory
from traincrew.embedded.kubelet.runtime.rootfs.mounts import bind, bind_open, mount_target, opened, restrict, tmpfs
from traincrew.embedded.kubelet.runtime.rootfs.root_directory import RootDirectory
from traincrew.embedded.kubelet.runtime.spec import ContainerConfig, PodSandboxConfig

COMMAND = 2
"""The process id of the command in a PID namespace of its own: the first that init forks."""
_SAFE_FLAGS = syscalls.MS_NOSUID | syscalls.MS_NODEV | syscalls.MS_NOEXEC

_MASKED = (
    *("/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/sched_debug"),
    *("/proc/scsi", "/proc/timer_list", "/proc/timer_stats", "/sys/devices/virtual/powercap", "/sys/firmware"),
)
_READ_ONLY = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")

_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"}


def mount_proc(root: RootDirectory, pod: PodSandboxConfig, container: ContainerConfig, shared: int = -1) -> None:
    """shared: a detached mount of the /proc that the pod's containers share; -1: this process is in the container's own."""
    if shared >= 0:
        with opened(root, "/proc") as directory:
            syscalls.attach_mount(shared, directory)
    else:
        _mount_own_proc(root, pod)
    if os.getpid() == 1:
        # The kernel may forbid it some day.
        with contextlib.suppress(OSError):
            _link_descriptors_of_command(root)
    if container.privileged:
        return
    for path in _READ_ONLY:
        with contextlib.suppress(FileNotFoundError), opened(root, path) as entry:
            bind_open(root, entry, path, entry, syscalls.MOUNT_ATTR_RDONLY)


def _mount_own_proc(root: RootDirectory, pod: PodSandboxConfig) -> None:
    with mount_target(root, "/proc") as target:
        try:
            syscalls.mount("proc", target, "proc", _SAFE_FLAGS)
        except OSError as error:
            # hostPID: the user namespace does not own the host's PID namespace, so bind the host's /proc.
            if not pod.host_pid or error.errno != errno.EPERM:
                raise
            syscalls.mount("/proc", target, "", syscalls.MS_BIND | syscalls.MS_REC)


def _link_descriptors_of_command(root: RootDirectory) -> None:
    """Hooks and cron jobs write to /proc/1/fd/1. There is the command in other containers, and init in ours."""
    path = "/proc/1/fd"
    tmpfs(root, path, "mode=755,size=4k,nr_inodes=8", syscalls.MS_NOEXEC)
    with opened(root, path) as directory:
        for number in range(3):
            os.symlink(f"/proc/{COMMAND}/fd/{number}", str(number), dir_fd=directory)
        restrict(directory, syscalls.MOUNT_ATTR_RDONLY)


def mount_sys(root: RootDirectory, container: ContainerConfig, cgroups: dict[str, str]) -> None:
    """cgroups: the container's cgroup directories by name below /sys/fs/cgroup ("" for cgroup v2)."""
    read_only = 0 if container.privileged else syscalls.MS_RDONLY
    try:
        with mount_target(root, "/sys") as target:
            syscalls.mount("sysfs", target, "sysfs", _SAFE_FLAGS | read_only)
    except OSError as error:
        # hostNetwork: the user namespace does not own the network namespace, so bind the host's /sys.
        if error.errno != errno.EPERM:
            raise
        bind(root, "/sys", "/sys", syscalls.MOUNT_ATTR_RDONLY)
        return
    _mount_cgroups(root, cgroups, container.privileged)


def mask(root: RootDirectory) -> None:
    """Masks files that reveal or change the state of the host, as containerd does."""
    for path in _MASKED:
        with contextlib.suppress(FileNotFoundError):
            _mask_one(root, path)


def mount_dev(root: RootDirectory, pod: PodSandboxConfig, container: ContainerConfig, shm: int) -> None:
    """Binds single device files of the host. /dev is mounted nodev: a device file that mknod creates there cannot be opened.

    shm: the pod's /dev/shm, as a descriptor of `shared_memory.clone_from`; -1: the container has its own.
    """
    tmpfs(root, "/dev", "mode=755,size=1m", syscalls.MS_NOEXEC)
    wanted = [f"/dev/{name}" for name in _DEVICES] + list(container.devices)
    for path in wanted:
        _bind_device(root, path)
    for path in _all_devices(set(wanted)) if container.privileged else ():
        # A device may vanish at any time.
        with contextlib.suppress(FileNotFoundError):
            _bind_device(root, path)
    with mount_target(root, "/dev") as dev:
        for name, target in _LINKS.items():
            os.symlink(target, f"{dev}/{name}")
        os.symlink("pts/ptmx", f"{dev}/ptmx")
    _mount_terminals(root)
    _mount_shared_memory(root, pod, shm)


def _bind_device(root: RootDirectory, path: str) -> None:
    """Read-only: a read-only mount allows writing to a device, and no change of its mode and owner, which are the host's.

    Checked once it is open: a device path outside of /dev may be exchanged with a link to a file by the owner of its directory.
    """
    os.close(root.open(path, make="file"))
    source = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not _is_device_mode(os.fstat(source).st_mode):
            raise OSError(errno.ENODEV, f"{path} is not a device")
        with opened(root, path) as target:
            bind_open(root, source, path, target, syscalls.MOUNT_ATTR_RDONLY)
    finally:
        os.close(source)


def _mount_cgroups(root: RootDirectory, cgroups: dict[str, str], privileged: bool) -> None:
    attributes = 0 if privileged else syscalls.MOUNT_ATTR_RDONLY
    if "" in cgroups:
        bind(root, cgroups[""], "/sys/fs/cgroup", attributes)
    elif cgroups:
        tmpfs(root, "/sys/fs/cgroup", "mode=755,size=64k", syscalls.MS_NOEXEC)
        for name, directory in cgroups.items():
            os.close(root.open(f"/sys/fs/cgroup/{name}", make="directory"))
            bind(root, directory, f"/sys/fs/cgroup/{name}", attributes)
        with opened(root, "/sys/fs/cgroup") as mounted:
            restrict(mounted, attributes)


def _mask_one(root: RootDirectory, path: str) -> None:
    descriptor = root.open(path)
    is_directory = stat.S_ISDIR(os.fstat(descriptor).st_mode)
    os.close(descriptor)
    if is_directory:
        tmpfs(root, path, "mode=555,size=0,nr_inodes=1", syscalls.MS_RDONLY | syscalls.MS_NOEXEC)
    else:
        bind(root, "/dev/null", path)


def _all_devices(known: set[str]) -> list[str]:
    devices = []
    for folder, _, names in os.walk("/dev"):
        if folder in ("/dev/pts", "/dev/shm", "/dev/mqueue"):  # noqa: S108 -- left out
            continue
        paths = [os.path.join(folder, name) for name in names]
        devices += [path for path in paths if path not in known and path != "/dev/ptmx" and _is_device(path)]
    return devices


def _is_device(path: str) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return _is_device_mode(os.lstat(path).st_mode)
    return False


def _is_device_mode(mode: int) -> bool:
    return stat.S_ISCHR(mode) or stat.S_ISBLK(mode)


def _mount_terminals(root: RootDirectory) -> None:
    os.close(root.open("/dev/pts", make="directory"))
    options = "newinstance,ptmxmode=0666,mode=0620"
    with mount_target(root, "/dev/pts") as target:
        try:
            syscalls.mount("devpts", target, "devpts", syscalls.MS_NOSUID | syscalls.MS_NOEXEC, options + ",gid=5")
        except OSError as error:
            # Without subordinate ids the group tty is not mapped.
            if error.errno != errno.EINVAL:
                raise
            syscalls.mount("devpts", target, "devpts", syscalls.MS_NOSUID | syscalls.MS_NOEXEC, options)


def _mount_shared_memory(root: RootDirectory, pod: PodSandboxConfig, shm: int) -> None:
    for name in ("shm", "mqueue"):
        os.close(root.open(f"/dev/{name}", make="directory"))
    if pod.host_ipc:
        bind(root, "/dev/shm", "/dev/shm")  # noqa: S108 -- asked for
    elif shm >= 0:
        target = root.open("/dev/shm")  # noqa: S108 -- the pod's own
        syscalls.attach_mount(shm, target)
        os.close(target)
    else:
        shared_memory.mount(root, pod)
    # The kernel may lack mqueue, and a user namespace does not own the host's.
    with contextlib.suppress(OSError), mount_target(root, "/dev/mqueue") as target_path:
        syscalls.mount("mqueue", target_path, "mqueue", _SAFE_FLAGS)


def cgroup_directories(entries: tuple[int, ...]) -> dict[str, str]:
    """The cgroup directories of these entries, by name below /sys/fs/cgroup ("" for cgroup v2)."""
    directories: dict[str, str] = {}
    for cgroup_entry in entries:
        directory = entry.directory(cgroup_entry)
        if os.path.exists(f"{directory}/cgroup.events"):
            directories.setdefault("", directory)
        else:
            name = next((part for part in directory.split("/")[4:5]), "")
            directories[name] = directory
    return directories if len(directories) == 1 else {name: directory for name, directory in directories.items() if name}

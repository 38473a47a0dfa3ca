"""The template process runs the interpreter and its libraries from a read-only mount.

A container at isolation level "root" that may trace its init process reaches these files of the host through /proc/1/exe and
/proc/1/map_files. The mount through which a process has opened a file decides whether the file can be changed there.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys

from traincrew.embedded.kubelet.runtime import syscalls

_TEMPLATE = "traincrew.embedded.kubelet.runtime.shim.template"
_ARGUMENTS = 4
"""Name of the program, socket, isolation level, user namespace. The second start has descriptors of both roots, too."""


def execute_read_only(argv: list[str]) -> None:
    """Starts this process again in a read-only copy of all mounts. Before Linux 5.12, and without the right, does nothing."""
    if len(argv) > _ARGUMENTS or argv[2] != "root":
        return
    _cache_bytecode()
    with contextlib.suppress(OSError):
        host = os.open("/", os.O_PATH | os.O_DIRECTORY)
        copy = syscalls.clone_mount(host)
        syscalls.restrict_mount(copy, syscalls.MOUNT_ATTR_RDONLY, syscalls.MS_PRIVATE)
        _execute_in(copy, host)


def _cache_bytecode() -> None:
    """The second start cannot write it."""
    cached = os.path.join(os.path.dirname(__file__), "__pycache__", f"template.{sys.implementation.cache_tag}.pyc")
    if not os.path.exists(cached):
        importlib.import_module(_TEMPLATE)


def _execute_in(copy: int, host: int) -> None:
    for descriptor in (copy, host):
        os.set_inheritable(descriptor, True)
    _change_root(copy)
    try:
        os.execv(sys.executable, [*sys.orig_argv, str(host), str(copy)])
    finally:
        _change_root(host)


def return_to_host(argv: list[str]) -> None:
    """After all imports. The copy of the mounts vanishes but for the files that this process has open."""
    if len(argv) > _ARGUMENTS:
        host, copy = (int(each) for each in argv[_ARGUMENTS:])
        _change_root(host)
        os.close(host)
        os.close(copy)


def _change_root(directory: int) -> None:
    os.fchdir(directory)
    os.chroot(".")

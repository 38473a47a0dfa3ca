"""Checks the isolation of pods and the enforcement of their limits."""

from __future__ import annotations

import os
import pathlib
import pwd
import shutil
from collections.abc import Iterator

from traincrew.cli.doctor.check_result import CheckResult, ok, warn
from traincrew.embedded.kubelet.runtime import isolation, user_namespace
from traincrew.embedded.kubelet.runtime.cgroups import hierarchies
from traincrew.embedded.kubelet.runtime.spec import Isolation

_WITHOUT_ISOLATION = "pods share the network and the files of the host, and volumes cannot be mounted"


def check(directory: pathlib.Path) -> Iterator[CheckResult]:
    """directory: where the overlay layers of pods are stored."""
    found = isolation.probe(str(directory))
    unavailable = "; ".join(f"{level} is not available: {why}" for level, why in found.unavailable.items())
    if found.isolation is Isolation.NONE:
        yield warn("isolation", f"none: {_WITHOUT_ISOLATION}", unavailable)
        yield warn("overlay", "not checked: namespaces are not available", "See isolation.")
    else:
        yield ok("isolation", f"{found.isolation}" + (f" ({unavailable})" if unavailable else ""))
        yield ok("overlay", f"{directory} supports an overlay root file system")
    yield _ids()
    yield _cgroups()


def _ids() -> CheckResult:
    if os.geteuid() == 0:
        return ok("ids", "all user and group IDs are available (running as root)")
    name = pwd.getpwuid(os.getuid()).pw_name if _has_user_name() else str(os.getuid())
    missing_programs = [each for each in ("newuidmap", "newgidmap") if shutil.which(each) is None]
    missing_ranges = [
        each for each in ("/etc/subuid", "/etc/subgid") if not user_namespace.subordinate_ranges(each, os.getuid(), name)
    ]
    if not missing_programs and not missing_ranges:
        return ok("ids", f"{name} has subordinate IDs: pods may use several users")
    why = "; ".join(
        [
            *(f"{each} is not installed" for each in missing_programs),
            *(f"{each} has no range for {name}" for each in missing_ranges),
        ]
    )
    remedy = (
        f"runAsUser and sshd need subordinate IDs. Install the package uidmap and run as root: usermod --add-subuids "
        f"100000-165535 --add-subgids 100000-165535 {name}"
    )
    return warn("ids", f"pods have a single user ID: {why}", remedy)


def _has_user_name() -> bool:
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        return False
    return True


def _cgroups() -> CheckResult:
    why = hierarchies.discover().warning
    if not why:
        return ok("cgroups", "limits of CPU, memory and processes are enforced")
    message, _, remedy = why.rpartition(" (")
    return warn("cgroups", message, f"{remedy[0].upper()}{remedy[1:].removesuffix(')')}.")

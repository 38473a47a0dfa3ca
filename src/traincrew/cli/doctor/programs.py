"""Checks the programs and settings of the machine."""

from __future__ import annotations

import datetime as dt
import json
import pathlib
import platform
import re
import resource
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

from traincrew.apimachinery import times
from traincrew.cli import py_spy
from traincrew.cli.doctor.check_result import CheckResult, fail, ok, warn
from traincrew.embedded import data_directory

MIN_PYTHON = (3, 11)
MIN_KUBECTL = (1, 27)
MIN_OPEN_FILES = 4096
_TIMEOUT = 20
_TOLERANCE = 60.0


def check(directory: data_directory.DataDirectory) -> Iterator[CheckResult]:
    yield _python()
    yield _kubectl()
    yield _py_spy()
    yield _port(directory)
    yield clock(directory.data, time.time())
    yield _open_files()


def _python() -> CheckResult:
    message = f"{platform.python_version()} ({sys.executable}); images without a mapping run in {sys.prefix}"
    if sys.version_info[:2] < MIN_PYTHON:
        return fail("python", message, "Install Python 3.11 or later.")
    return ok("python", message)


def _kubectl() -> CheckResult:
    program = shutil.which("kubectl")
    if program is None:
        return warn("kubectl", "not in PATH", "traincrew works without kubectl. To use kubectl, install version 1.27 or later.")
    try:
        done = subprocess.run([program, "version", "--client", "-o", "json"], capture_output=True, timeout=_TIMEOUT, check=True)
        message = json.loads(done.stdout)["clientVersion"]["gitVersion"]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError):
        return warn("kubectl", f"cannot determine the version of {program}", "Check `kubectl version --client`.")
    found = re.match(r"v(\d+)\.(\d+)", message)
    if found is None or (int(found[1]), int(found[2])) < MIN_KUBECTL:
        return warn("kubectl", f"{message} ({program})", "This version is older than the tested ones. Install 1.27 or later.")
    return ok("kubectl", f"{message} ({program})")


def _py_spy() -> CheckResult:
    program = py_spy.find()
    if program is None:
        return ok(
            "py-spy", f"optional, not installed: `traincrew stacks` needs it. Run `{py_spy.install_command()}` to install it."
        )
    return ok("py-spy", f"{program} (optional, for `traincrew stacks`)")


def _port(directory: data_directory.DataDirectory) -> CheckResult:
    wanted = directory.last_port()
    if directory.owner_pid():
        return ok("ports", f"the cluster listens on {wanted}" if wanted else "the cluster is starting")
    for port, result in ((wanted, warn), (0, fail)):
        try:
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", port))
        except OSError as error:
            remedy = (
                "`traincrew up` uses another port, and copies of the kubeconfig become invalid."
                if port
                else "Check that the loopback interface (lo) is up."
            )
            return result("ports", f"cannot bind to 127.0.0.1:{port}: {error.strerror}", remedy)
    return ok("ports", f"the last port {wanted} is free" if wanted else "free ports are available on loopback")


def clock(data: pathlib.Path, now: float) -> CheckResult:
    """Certificates and tokens are not yet valid if the clock was set back."""
    written = [path.stat().st_mtime for path in (data / "cluster.db", data / "kubeconfig", *data.glob("pki/*")) if path.exists()]
    ahead = max(written, default=now) - now
    if ahead > _TOLERANCE:
        message = f"{_format_time(now)} is {ahead:.0f} s behind the newest files of the cluster"
        return fail("clock", message, "Set the clock (timedatectl set-ntp true).")
    return ok("clock", _format_time(now))


def _format_time(moment: float) -> str:
    return times.rfc3339(dt.datetime.fromtimestamp(moment, dt.UTC))


def _open_files() -> CheckResult:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < MIN_OPEN_FILES:
        return warn(
            "open files",
            f"at most {most} for this user",
            f"Each watch needs an open file. Raise the limit (ulimit -Hn {MIN_OPEN_FILES}).",
        )
    return ok("open files", "unlimited" if most == resource.RLIM_INFINITY else f"up to {most}")

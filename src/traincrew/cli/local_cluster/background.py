"""Starts the cluster in a background process and waits until it is ready."""

from __future__ import annotations

import os
import pathlib
import shlex
import subprocess
import sys
import time

import traincrew
from traincrew import errors
from traincrew.cli.local_cluster import missing_egress, unenforced_limits
from traincrew.embedded import data_directory

START_TIMEOUT = 60.0
POLL_INTERVAL = 0.02
BACKGROUND = "TRAINCREW_IN_BACKGROUND"
"""Environment variable that marks a process that runs in the background."""
ERROR_PREFIX = "error: "
"""Prefix of the last line of a command that fails."""


def in_background() -> bool:
    return bool(os.environ.get(BACKGROUND))


def start(directory: data_directory.DataDirectory, arguments: list[str]) -> dict[str, object]:
    """Run `traincrew ARGUMENTS` in the background. Return what the cluster announces when it is ready."""
    directory.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    process = subprocess.Popen(
        [sys.executable, "-m", "traincrew.cli.main", *arguments],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
        env={**os.environ, BACKGROUND: "1"},
    )  # fmt: skip
    deadline = time.monotonic() + START_TIMEOUT
    while (announced := directory.running()) is None:
        # If another process has started a cluster on the data in the meantime, that cluster is as good.
        if process.poll() is not None and not directory.owner_pid():
            raise errors.NotRunning(f"the cluster did not start: {_error_of(process) or f'see {directory.log}'}")
        if time.monotonic() > deadline:
            raise errors.NotRunning(f"the cluster is not ready after {START_TIMEOUT:.0f} s. See {directory.log}.")
        time.sleep(POLL_INTERVAL)
    return announced


def ready_message(directory: data_directory.DataDirectory, announced: dict[str, object]) -> list[str]:
    return [
        f"The cluster is ready at {announced['server']} (process {announced['pid']}). Run `traincrew down` to stop it.",
        f"  export KUBECONFIG={shlex.quote(str(directory.kubeconfig))}",
        *console_message(directory),
        *unenforced_limits.of_node(announced),
        *missing_egress.of_node(announced),
    ]


def console_message(directory: data_directory.DataDirectory) -> list[str]:
    """The link of the console of the cluster, if it has one and the page is built."""
    if not (pathlib.Path(traincrew.__file__).parent / "console/page/index.html").exists():
        return []
    from traincrew.cli.local_cluster import console_records  # only now: its import takes longer than the other modules'

    own = str(directory.kubeconfig)
    found = [each for each in console_records.records(directory.data) if each.kubeconfig == own and each.token]
    return [f"Console: {each.link(each.token)} (valid once; `traincrew console` prints another link)" for each in found[:1]]


def _error_of(process: subprocess.Popen[bytes]) -> str:
    """The error message of the process that ended; else everything it wrote to standard error."""
    lines = process.stderr.read().decode(errors="replace").splitlines() if process.stderr else []
    messages = [line.removeprefix(ERROR_PREFIX) for line in lines if line.startswith(ERROR_PREFIX)]
    return messages[-1] if messages else "\n".join(lines)

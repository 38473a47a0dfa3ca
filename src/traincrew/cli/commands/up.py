"""`traincrew up`: the cluster of this machine."""

from __future__ import annotations

import contextlib
import logging
import os
import pathlib
import resource
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import click
from click.core import ParameterSource

from traincrew import errors, settings
from traincrew.app import log_format
from traincrew.cli import cluster_config
from traincrew.cli.commands import node_flags
from traincrew.embedded import data_directory

START_LIMIT = 60.0
LARGEST_LOG = 16 * 1024 * 1024
"""Bytes at which the log is set aside by the next start."""


@click.command()
@click.option("--detach", "-d", is_flag=True, help="Run the cluster in the background and return when it is ready.")
@click.option(
    "--data",
    metavar="DIR",
    default="",
    help="Data directory of the cluster. Default: $TRAINCREW_DATA or ~/.local/state/traincrew.",
)
@click.option(
    "--listen",
    metavar="HOST:PORT",
    default="127.0.0.1:0",
    show_default=True,
    help="Address of the API server. Port 0 reuses the last port or selects a free one.",
)
@click.option(
    "--namespace", "namespaces", multiple=True, metavar="NAME", help="Create this namespace at the start. May be repeated."
)
@click.option("--no-operator", is_flag=True, help="Do not run the operator.")
@click.option("--no-controllers", is_flag=True, help="Do not run the controllers for garbage collection, namespaces and quotas.")
@click.option("--no-node", is_flag=True, help="Do not run pods. Start the API server only.")
@node_flags.options
@click.option(
    "--overcommit",
    type=click.Choice(node_flags.SHARED),
    multiple=True,
    default=("cpu",),
    show_default=True,
    help="Allow pods to request more of this resource than the machine has. May be repeated.",
)
@click.option("--audit-log", metavar="FILE", default="", help="Write an audit log in the format of kube-apiserver.")
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Log format.")
@click.option(
    "--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", show_default=True, help="Log level."
)
def up(detach: bool, data: str, **flags: Any) -> None:
    """Start the cluster on this machine: Kubernetes API server, scheduler, kubelet and operator in one process.

    \b
    traincrew up --detach
    eval "$(traincrew env)"
    kubectl create -f job.yaml
    """
    where = data_directory.DataDirectory(data_directory.data_directory(data))
    flags = cluster_config.applied(click.get_current_context(), flags, where.data)
    _checked(flags)
    if _runs_already(where):
        return
    with _troubles(where):
        where.data.mkdir(parents=True, exist_ok=True, mode=0o700)
        if detach:
            in_the_background(where, [each for each in sys.argv[1:] if each not in ("--detach", "-d")])
        else:
            _serve(where, flags)


def _checked(flags: dict[str, Any]) -> None:
    """Raises SettingsError; also where a cluster runs already, and the flags would have no effect."""
    address(flags["listen"])
    node_flags.node(flags)


@contextlib.contextmanager
def _troubles(where: data_directory.DataDirectory) -> Iterator[None]:
    """What the file system says, as words for whoever named the directory."""
    try:
        yield
    except OSError as error:
        told = f"{error.filename or where.data}: {error.strerror or error}"
        raise errors.StoreError(f"{told}. Fix the problem or choose another directory with --data DIR.") from None


def _serve(where: data_directory.DataDirectory, flags: dict[str, Any]) -> None:
    host, port = address(flags["listen"])
    options = settings.Cluster(
        data=str(where.data),
        listen=host,
        port=port or _free(host, where.last_port()),
        namespaces=flags["namespaces"] or settings.Cluster().namespaces,
        operator=not flags["no_operator"],
        controllers=not flags["no_controllers"],
        audit_log=flags["audit_log"],
        node=None if flags["no_node"] else node_flags.node(flags),
        overcommit=tuple(each for each in flags["overcommit"] if each != "none"),
    )
    _log_to(where, flags["log_format"], flags["log_level"])
    # Every connection and every watch is a file; the usual limit is for programs that serve nobody.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    import traincrew.cli.aiohttp_import  # noqa: F401 - before others import aiohttp
    from traincrew.app import operator

    operator.run_cluster(options, where, lambda url: _tell(where, url), _tell_stopping)


def address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    host = host.strip("[]")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise errors.SettingsError(f"invalid --listen {text!r}: expected HOST:PORT, such as 127.0.0.1:6443")
    return host or "127.0.0.1", int(port)


def _free(host: str, port: int) -> int:
    """That port if nobody has it, else 0."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return 0
    return port


def _runs_already(where: data_directory.DataDirectory) -> bool:
    pid = where.holder()
    if not pid:
        return False
    found = where.running()
    at = f" at {found['server']}" if found else ""
    who = f"(process {pid})" if pid > 0 else "(starting)"
    click.echo(f"The cluster in {where.data} is already running{at} {who}. Nothing was changed.")
    if given := _given():
        click.echo(
            f"Options not applied: {', '.join(given)}. Run `traincrew down` first, then `traincrew up` with these options."
        )
    return True


def _given() -> list[str]:
    """The options on the command line that are for a cluster yet to start."""
    context = click.get_current_context()
    return [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name not in ("detach", "data")
        and context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
    ]


def _log_to(where: data_directory.DataDirectory, form: str, level: str) -> None:
    """To standard error, and to the file that `kubectl logs` of the operator's pod shows."""
    log_format.configure("json" if form == "json" else "text", level)
    _set_aside(where.log)
    logging.raiseExceptions = False  # on a full disk a line is lost; telling so on standard error helps nobody
    handler = logging.StreamHandler(open(where.log, "a", buffering=1, opener=_private))  # noqa: SIM115 - until the end
    handler.setFormatter(log_format.JsonLines() if form == "json" else log_format.TextLines())
    root = logging.getLogger()
    if os.environ.get(BACKGROUND):
        root.handlers.clear()
    root.addHandler(handler)


def _set_aside(log: pathlib.Path) -> None:
    """A log that has grown large is kept once more, beside the new one."""
    with contextlib.suppress(OSError):
        if log.stat().st_size > LARGEST_LOG:
            log.replace(log.with_name(f"{log.name}.1"))


def _tell(where: data_directory.DataDirectory, url: str) -> None:
    if os.environ.get(BACKGROUND):
        # Nobody reads the pipe any longer.
        with open(where.log, "ab", opener=_private) as file:
            os.dup2(file.fileno(), 2)
        return
    click.echo(f"The cluster is ready at {url}.")
    click.echo(f"  export KUBECONFIG={shlex.quote(str(where.kubeconfig))}")
    click.echo(
        "Press Ctrl-C to stop the cluster and its pods. Its data is kept. Run `traincrew down --leave-pods` to leave the pods "
        "running."
    )


def _tell_stopping(pods: int, grace: float | None) -> None:
    if os.environ.get(BACKGROUND):
        return
    counted = "1 pod" if pods == 1 else f"{pods} pods"
    if not pods:
        click.echo("Stopping the cluster. No pods are running.")
    elif grace is None:
        click.echo(f"Stopping the cluster. {counted} left running for the next `traincrew up`.")
    else:
        click.echo(f"Stopping the cluster and {counted} (up to {grace:g} s). Their jobs continue after the next `traincrew up`.")


BACKGROUND = "TRAINCREW_IN_BACKGROUND"
SPEAKS = "error: "
"""How the last line of a command that fails begins."""


def in_the_background(where: data_directory.DataDirectory, arguments: list[str]) -> None:
    """Returns when it is ready. The arguments are those of the command that goes on there."""
    where.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    process = subprocess.Popen(
        [sys.executable, "-m", "traincrew.cli.main", *arguments],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
        env={**os.environ, BACKGROUND: "1"},
    )  # fmt: skip
    deadline = time.monotonic() + START_LIMIT
    while (found := where.running()) is None:
        # If somebody else was faster and has the data, that cluster is as good as ours.
        if process.poll() is not None and not where.holder():
            raise errors.NotRunning(f"the cluster did not start: {_last_words(process) or f'see {where.log}'}")
        if time.monotonic() > deadline:
            raise errors.NotRunning(f"the cluster is not ready after {START_LIMIT:.0f} s. See {where.log}.")
        time.sleep(0.02)
    click.echo(f"The cluster is ready at {found['server']} (process {found['pid']}). Run `traincrew down` to stop it.")
    click.echo(f"  export KUBECONFIG={shlex.quote(str(where.kubeconfig))}")


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _last_words(process: subprocess.Popen[bytes]) -> str:
    """What it said when it ended, if it had the time."""
    said = process.stderr.read().decode(errors="replace").splitlines() if process.stderr else []
    told = [line.removeprefix(SPEAKS) for line in said if line.startswith(SPEAKS)]
    return told[-1] if told else "\n".join(said)

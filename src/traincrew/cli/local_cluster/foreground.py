"""Runs the cluster in this process until it is stopped."""

from __future__ import annotations

import contextlib
import logging
import os
import pathlib
import resource
import shlex
from typing import TYPE_CHECKING, Any

from traincrew import errors, settings
from traincrew.app import log_format
from traincrew.cli import node_options, sharing_options
from traincrew.cli.local_cluster import background, missing_egress, unenforced_limits
from traincrew.cli.render import terminal
from traincrew.embedded import data_directory, gc_tuning

if TYPE_CHECKING:
    from traincrew.cli.local_cluster import console_listener

MAX_LOG_BYTES = 16 * 1024 * 1024
"""Size from which the log is rotated at the next start."""


def validate(flags: dict[str, Any]) -> None:
    """Raise SettingsError for invalid flags."""
    parse_address(flags["listen"])
    node_options.node(flags)
    sharing_options.parse(flags["sharing_options"])


def serve(directory: data_directory.DataDirectory, flags: dict[str, Any]) -> None:
    host, port = parse_address(flags["listen"])
    options = settings.Cluster(
        data=str(directory.data),
        listen=host,
        port=port,
        namespaces=flags["namespaces"],
        operator=not flags["no_operator"],
        controllers=not flags["no_controllers"],
        audit_log=flags["audit_log"],
        node=None if flags["no_node"] else node_options.node(flags),
        overcommit=tuple(each for each in flags["overcommit"] if each != "none"),
        sharing=sharing_options.parse(flags["sharing_options"]),
        history=None if flags["no_console"] else settings.History(),
    )
    _configure_logging(directory, flags["log_format"], flags["log_level"])
    # Each connection and each watch needs an open file. The usual soft limit is too low for a server.
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    gc_tuning.pause()
    import traincrew.cli.aiohttp_import  # noqa: F401 - before other modules import aiohttp
    from traincrew.app import cluster

    console, problem = (None, "") if flags["no_console"] else _console(directory)

    def ready(url: str) -> None:
        if problem:
            logging.getLogger(__name__).warning("the console cannot listen: %s", problem)
        if console is not None:
            console.start()
        _report_ready(directory, url)

    try:
        cluster.run(options, directory, cluster.StatusCallbacks(ready, _report_stopping))
    finally:
        if console is not None:
            console.close()


def _console(directory: data_directory.DataDirectory) -> tuple[console_listener.ConsoleListener | None, str]:
    """Before the cluster is ready, so that its start can print the link. None with the reason: the cluster is more important."""
    from traincrew.cli.local_cluster import console_listener  # `up --detach` does not need it

    try:
        return console_listener.ConsoleListener(directory.data, directory.kubeconfig), ""
    except OSError as error:
        return None, str(error)


def parse_address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    host = host.strip("[]")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise errors.SettingsError(f"invalid --listen {text!r}: expected HOST:PORT, such as 127.0.0.1:6443")
    return host or "127.0.0.1", int(port)


def _configure_logging(directory: data_directory.DataDirectory, form: str, level: str) -> None:
    """Log to standard error and to the file that `kubectl logs` of the operator's mirror pod reads."""
    log_format.configure("json" if form == "json" else "text", level)
    _rotate(directory.log)
    logging.raiseExceptions = False  # on a full disk, log lines are lost without a traceback on standard error
    handler = logging.StreamHandler(open(directory.log, "a", buffering=1, opener=_private))  # noqa: SIM115 - until exit
    handler.setFormatter(log_format.JsonFormatter() if form == "json" else log_format.TextFormatter())
    root = logging.getLogger()
    if background.in_background():
        root.handlers.clear()
    root.addHandler(handler)


def _rotate(log: pathlib.Path) -> None:
    """Keep one old log next to the new one."""
    with contextlib.suppress(OSError):
        if log.stat().st_size > MAX_LOG_BYTES:
            log.replace(log.with_name(f"{log.name}.1"))


def _report_ready(directory: data_directory.DataDirectory, url: str) -> None:
    if background.in_background():
        # The parent process no longer reads the pipe of standard error.
        with open(directory.log, "ab", opener=_private) as file:
            os.dup2(file.fileno(), 2)
        return
    terminal.echo(f"The cluster is ready at {url}.")
    terminal.echo(f"  export KUBECONFIG={shlex.quote(str(directory.kubeconfig))}")
    announced = directory.running() or {}
    warnings = (*unenforced_limits.of_node(announced), *missing_egress.of_node(announced))
    for line in (*background.console_message(directory), *warnings):
        terminal.echo(line)
    terminal.echo(
        "Press Ctrl-C to stop the cluster and its pods. Its data is kept. Run `traincrew down --leave-pods` to leave the pods "
        "running."
    )


def _report_stopping(pods: int, grace: float | None) -> None:
    if background.in_background():
        return
    counted = "1 pod" if pods == 1 else f"{pods} pods"
    if not pods:
        terminal.echo("Stopping the cluster. No pods are running.")
    elif grace is None:
        terminal.echo(f"Stopping the cluster. {counted} left running for the next `traincrew up`.")
    else:
        terminal.echo(
            f"Stopping the cluster and {counted} (up to {grace:g} s). Their jobs continue after the next `traincrew up`."
        )


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)

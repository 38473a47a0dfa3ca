"""The cluster that a verb talks to: --kubeconfig, $KUBECONFIG, the cluster on this machine, or ~/.kube/config."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import urllib.parse
from typing import TYPE_CHECKING

import click

from traincrew import errors
from traincrew.cli.option_group import option_group
from traincrew.embedded import data_directory

if TYPE_CHECKING:  # `resolve` loads the HTTP library; --help does not need it
    from traincrew.client.connection import ServerConnection


@dataclasses.dataclass(frozen=True)
class TargetOptions:
    """The options of the command line that select a cluster and a namespace."""

    kubeconfig: str = ""
    context: str = ""
    namespace: str = ""
    data: str = ""

    @property
    def data_directory(self) -> data_directory.DataDirectory:
        return data_directory.DataDirectory(data_directory.data_directory(self.data))

    def names_cluster(self) -> bool:
        """Whether the user names a cluster."""
        return bool(self.kubeconfig or self.context or os.environ.get("KUBECONFIG"))

    def names_other_cluster(self) -> bool:
        """Whether the user names a cluster that `run` cannot start. The shell of `traincrew env` names that of this machine."""
        own = os.path.realpath(self.data_directory.kubeconfig)
        by_env = not self.kubeconfig and not self.context and os.path.realpath(os.environ.get("KUBECONFIG") or "") == own
        return self.names_cluster() and not by_env


@dataclasses.dataclass(frozen=True)
class HistoryTargetOptions(TargetOptions):
    """Of verbs that read deleted jobs, too."""

    console: str = ""
    """The address of the console that has the history, or NAMESPACE/SERVICE. Empty: that of the cluster or of this machine."""


@dataclasses.dataclass(frozen=True)
class ClusterTarget:
    connection: ServerConnection
    namespace: str
    local: data_directory.DataDirectory | None
    """The data directory, if the target is the cluster on this machine."""

    @property
    def log_root(self) -> pathlib.Path | None:
        """Directory of the stored container logs of the cluster on this machine."""
        return self.local.data / "logs" if self.local is not None else None


_OPTIONS = (
    click.option(
        "-n", "--namespace", metavar="NAME", help="Namespace of the jobs. Default: the namespace of the kubeconfig context."
    ),
    click.option(
        "--kubeconfig",
        metavar="FILE",
        help="Path of the kubeconfig. Default: $KUBECONFIG, the cluster on this machine, ~/.kube/config.",
    ),
    click.option("--context", metavar="NAME", help="Kubeconfig context to use."),
    click.option("--data", metavar="DIR", help="Data directory of the cluster on this machine."),
)
options = option_group("target_options", TargetOptions, _OPTIONS)
"""Adds the options of every verb that talks to a cluster."""
_CONSOLE = click.option(
    "--console",
    metavar="URL",
    envvar="TRAINCREW_CONSOLE",
    help="The console that has the history of deleted jobs: its address, or NAMESPACE/SERVICE in the cluster. Default: "
    "$TRAINCREW_CONSOLE, else the console in the namespace kubeflow, else that of this machine.",
)
options_with_history = option_group("target_options", HistoryTargetOptions, (*_OPTIONS, _CONSOLE))
"""Adds the options of every verb that reads deleted jobs, too."""


def resolve(target_options: TargetOptions) -> ClusterTarget:
    """Raise NotRunning or KubeconfigError if there is no cluster."""
    from traincrew.client import kubeconfig

    directory = target_options.data_directory
    local: data_directory.DataDirectory | None = None
    if target_options.names_cluster():
        connection = kubeconfig.load(target_options.kubeconfig or None, target_options.context or None)
        local = directory if _is_local(directory, connection) else None
    elif directory.running() is not None:
        connection = kubeconfig.load(str(directory.kubeconfig))
        local = directory
    else:
        _require_user_kubeconfig(directory)
        connection = kubeconfig.load(None)
    return ClusterTarget(connection, target_options.namespace or connection.namespace, local)


def kubeconfig_path(target_options: TargetOptions, target: ClusterTarget) -> str:
    """The file with the credentials. A console of other credentials has other rights."""
    if target_options.names_cluster():
        return target_options.kubeconfig or os.environ.get("KUBECONFIG") or os.path.expanduser("~/.kube/config")
    return os.fspath(target.local.kubeconfig) if target.local is not None else os.path.expanduser("~/.kube/config")


def _require_user_kubeconfig(directory: data_directory.DataDirectory) -> None:
    path = pathlib.Path("~/.kube/config").expanduser()
    if path.exists():
        return
    raise errors.NotRunning(
        f"no cluster found: --kubeconfig and $KUBECONFIG are not set, no cluster is running in {directory.data}, and {path} "
        "does not exist. Run `traincrew up --detach` to start a cluster."
    )


def _is_local(directory: data_directory.DataDirectory, connection: ServerConnection) -> bool:
    """Whether a kubeconfig that the user named leads to the cluster in the data directory."""
    try:
        announced = directory.running()
    except errors.NotRunning:  # the directory belongs to another user
        return False
    return announced is not None and announced.get("server") == connection.server


def start_hint(target: ClusterTarget) -> str:
    """How to start a cluster, if the API server that does not respond is on this machine."""
    host = urllib.parse.urlsplit(target.connection.server).hostname or ""
    if host not in ("localhost", "::1") and not host.startswith("127."):
        return ""
    return ". Run `traincrew up --detach` to start a cluster on this machine and `traincrew env` to point kubectl at it."

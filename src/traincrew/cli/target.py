"""Which cluster a verb speaks to: --kubeconfig, else $KUBECONFIG, else the one of this machine, else ~/.kube/config."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import urllib.parse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from traincrew import errors
from traincrew.embedded import data_directory

if TYPE_CHECKING:  # the HTTP library is loaded by whoever calls `target`, not by --help
    from traincrew.client.connection import Connection

F = TypeVar("F", bound=Callable[..., Any])


@dataclasses.dataclass(frozen=True)
class TargetOptions:
    """What the command line says about it."""

    kubeconfig: str = ""
    context: str = ""
    namespace: str = ""
    data: str = ""

    @property
    def place(self) -> data_directory.DataDirectory:
        return data_directory.DataDirectory(data_directory.data_directory(self.data))

    def names_a_cluster(self) -> bool:
        """Whether somebody has said which one, rather than left it to us."""
        return bool(self.kubeconfig or self.context or os.environ.get("KUBECONFIG"))


@dataclasses.dataclass(frozen=True)
class Target:
    connection: Connection
    namespace: str
    local: data_directory.DataDirectory | None
    """Where it lives, if it is the cluster of this machine: then there are files to look into."""


def options(command: F) -> F:
    """The options of every verb that speaks to a cluster; the verb gets them as one `reach`."""

    def gathered(*arguments: Any, **values: Any) -> Any:
        chosen = {field.name: values.pop(field.name) or "" for field in dataclasses.fields(TargetOptions)}
        return command(*arguments, reach=TargetOptions(**chosen), **values)

    gathered.__doc__, gathered.__name__ = command.__doc__, command.__name__
    # Options that were declared below this decorator hang on the function that it takes.
    gathered.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    found: Any = gathered
    for option in reversed(_OPTIONS):
        found = option(found)
    return found  # type: ignore[no-any-return]


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


def target(reach: TargetOptions) -> Target:
    from traincrew.client import kubeconfig

    where = reach.place
    if reach.names_a_cluster():
        found = kubeconfig.load(reach.kubeconfig or None, reach.context or None)
        return Target(found, reach.namespace or found.namespace, _local(where, found))
    if where.running() is not None:
        found = kubeconfig.load(str(where.kubeconfig))
        return Target(found, reach.namespace or found.namespace, where)
    _there_is_one(where)
    found = kubeconfig.load(None)
    return Target(found, reach.namespace or found.namespace, None)


def _there_is_one(where: data_directory.DataDirectory) -> None:
    users = pathlib.Path("~/.kube/config").expanduser()
    if users.exists():
        return
    raise errors.NotRunning(
        f"no cluster found: --kubeconfig and $KUBECONFIG are not set, no cluster is running in {where.data}, and {users} "
        "does not exist. Run `traincrew up --detach` to start a cluster."
    )


def _local(where: data_directory.DataDirectory, found: Connection) -> data_directory.DataDirectory | None:
    """The machine's own cluster, though it was reached by a kubeconfig that somebody named."""
    try:
        running = where.running()
    except errors.NotRunning:  # somebody else's
        return None
    return where if running is not None and running.get("server") == found.server else None


def hint(found: Target) -> str:
    """What to do where nobody answers: a cluster on loopback is one that somebody starts by hand."""
    host = urllib.parse.urlsplit(found.connection.server).hostname or ""
    if host not in ("localhost", "::1") and not host.startswith("127."):
        return ""
    return ". Run `traincrew up --detach` to start a cluster on this machine and `traincrew env` to point kubectl at it."

"""Whether the user of a container may use the programs of its environment."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Sequence

from traincrew.embedded.kubelet.images.environment import Environment


def closed_directory(environment: Environment, program: str, user: int, groups: Sequence[int]) -> str | None:
    """A message if the environment has the program, and the user may not enter a directory on the way to it.

    Without root, containers run in a user namespace, in which no user but root owns files of this machine.
    """
    if user == 0 or "/" in program:
        return None
    found = next((path for each in environment.path if os.path.exists(path := os.path.join(each, program))), "")
    directories = (os.path.realpath(os.path.dirname(found)), os.path.dirname(os.path.realpath(found))) if found else ()
    closed = next((closed for each in directories if (closed := _first_closed(each, user, groups))), "")
    if not closed:
        return None
    mode = stat.S_IMODE(os.stat(closed).st_mode)
    return (
        f"user {user} (runAsUser) may not use {environment.source}: {closed} has mode {mode:04o}. "
        f"Run `chmod o+x {shlex.quote(closed)}`, use an environment outside of it, or remove runAsUser."
    )


def _first_closed(directory: str, user: int, groups: Sequence[int]) -> str:
    """The first directory on the path that the user may not enter; empty: none."""
    path = ""
    for part in directory.split("/")[1:]:
        path = f"{path}/{part}"
        found = os.stat(path)
        shift = 0
        if os.geteuid() == 0:
            shift = 6 if found.st_uid == user else 3 if found.st_gid in groups else 0
        if not found.st_mode >> shift & 1:
            return path
    return ""

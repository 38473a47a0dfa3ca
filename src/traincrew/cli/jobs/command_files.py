"""Files that the commands of a job name and that its pods do not see: missing ones, and those in the /tmp of this machine."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from traincrew import errors
from traincrew.cli.jobs import command_scripts
from traincrew.embedded import data_directory
from traincrew.embedded.kubelet.images import default_environment


def reject_missing(command: Sequence[str], mounted: str) -> None:
    """Raise SettingsError if the program or the script of the command should be in the mounted directory, and is not."""
    for word in command_scripts.find(command):
        path = os.path.normpath(os.path.join(mounted, word))
        if mounted and f"{path}/".startswith(f"{mounted}/") and not os.path.exists(path):
            raise errors.SettingsError(f"{word}: no such file in {mounted}, where the command runs. Nothing was created.")


def reject_hidden(commands: Sequence[Sequence[str]], mounted: Sequence[str], data: data_directory.DataDirectory) -> None:
    """Raise SettingsError for a file of the command that is in a directory of this machine which pods do not see.

    Pods see the directories that are mounted: the current one, and those of the job's environment."""
    if not _separate(data):
        return
    for word in (word for command in commands for word in command):
        path = os.path.abspath(word)
        if not word.startswith("-") and "\n" not in word and _is_hidden_file(path, mounted):
            raise errors.SettingsError(
                f"{word}: {_own_directory(path)}. Run the command in its directory, which is "
                f"mounted in the pods (`cd {shlex.quote(os.path.dirname(path))}`), or move the file."
            )


def reject_hidden_in_pods(specs: Iterable[Mapping[str, Any]], data: data_directory.DataDirectory) -> None:
    """The same for the programs and scripts of a manifest, whose pods see what they mount. Init containers may make files."""
    if not _separate(data):
        return
    for spec in (each for each in specs if not each.get("initContainers")):
        for container in spec.get("containers") or ():
            command = [*(container.get("command") or ()), *(container.get("args") or ())]
            mounted = [mount["mountPath"].rstrip("/") for mount in container.get("volumeMounts") or ()]
            for path in command_scripts.find(command):
                if os.path.isabs(path) and _is_hidden_file(path, mounted):
                    directory = os.path.dirname(path)
                    raise errors.SettingsError(
                        f"container {container.get('name')}: {path}: {_own_directory(path)}. Mount {directory} "
                        "with a hostPath volume, or move the file to another directory. Nothing was created."
                    )


def _separate(data: data_directory.DataDirectory) -> bool:
    """Whether pods have directories of their own."""
    return (data.running() or {}).get("isolation") != "none"


def _is_hidden_file(path: str, mounted: Sequence[str]) -> bool:
    inside = any(f"{path}/".startswith(f"{directory}/") for directory in mounted)
    return default_environment.is_hidden(path) and not inside and os.path.isfile(path)


def _own_directory(path: str) -> str:
    top = next(each for each in default_environment.HIDDEN if path.startswith(each)).rstrip("/")
    return f"pods have a {top} of their own and do not see this file"

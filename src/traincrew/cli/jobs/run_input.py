"""The input of `traincrew run`: manifest files, or a command from which a job is generated."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import random
import re
from collections.abc import Sequence
from typing import Any

from traincrew import errors
from traincrew.cli import cluster_target
from traincrew.cli.jobs import command_manifest, job_references, manifest_files, manifests, unmapped_images
from traincrew.cli.render import serialization
from traincrew.kinds import job_from_command

ELASTIC_RETRIES = 3
"""Default number of retries of an elastic job, whose replicas are expected to fail and to be replaced."""
SUFFIX_CHARACTERS = "bcdfghjklmnpqrstvwxz2456789"
GENERATED = "generated job"


def from_files(names: Sequence[str], flags: dict[str, Any]) -> manifests.ParsedManifests:
    """Read the files. Flags of generated jobs are an error."""
    unset = (None, "", 0, (), False)
    given = [name for name, value in flags.items() if value not in unset and not (name == "workers" and value == 1)]
    if given:
        flag = given[0].replace("_", "-")
        raise errors.SettingsError(f"--{flag} requires --kind. Add --kind KIND -- COMMAND, or set the value in the file.")
    missing = [name for name in names if name != manifest_files.STDIN and not pathlib.Path(name).is_file()]
    if missing:
        raise errors.ManifestError(_missing_file(missing[0], first=missing[0] == names[0]))
    return manifests.parse({name: manifest_files.read_text(name) for name in names})


def _missing_file(name: str, *, first: bool) -> str:
    if pathlib.Path(name).is_dir():
        return f"{name} is a directory. Specify its files, such as {pathlib.Path(name, '*.yaml')}."
    # The first word of a command is rarely a file in the current directory, so --kind was probably forgotten.
    hint = ". To run a command, specify the kind of job: --kind PyTorchJob -- COMMAND." if first else ""
    return f"{name}: no such file{hint}"


def from_command(
    kind: str, command: tuple[str, ...], target_options: cluster_target.TargetOptions, flags: dict[str, Any]
) -> manifests.ParsedManifests:
    """Generate a job of the kind that runs the command."""
    elastic = command_manifest.parse_elastic(flags["elastic"])
    workers = flags["workers"]
    if elastic is not None:
        workers = min(max(workers, elastic[0]), elastic[1])
    suffix = "".join(random.choice(SUFFIX_CHARACTERS) for _ in range(5))
    job = command_manifest.CommandJob(
        kind=job_references.find_kind(kind),
        request=job_from_command.CommandRequest(command, workers, elastic, flags["gpus"]),
        name=flags["name"] or command_manifest.generate_name(command, suffix),
        namespace=target_options.namespace,
        image=flags["image"] or _default_image(target_options),
        cpu=command_manifest.parse_quantity("cpu", flags["cpu"]),
        memory=command_manifest.parse_quantity("memory", flags["memory"]),
        env=command_manifest.parse_variables(flags["env"], dict(os.environ)),
        retries=flags["retries"] if flags["retries"] is not None else ELASTIC_RETRIES if elastic else 0,
        directory="" if flags["no_mount"] else _current_directory(),
    )
    return _with_flag_names(manifests.parse({GENERATED: serialization.dump(command_manifest.manifest(job), "yaml")}))


def _with_flag_names(parsed: manifests.ParsedManifests) -> manifests.ParsedManifests:
    """Report an invalid name by its flag: the user has not seen the generated manifest."""
    name_error = re.compile(rf"{GENERATED}:\d+: metadata\.name:")
    return dataclasses.replace(parsed, errors=tuple(name_error.sub("--name:", each) for each in parsed.errors))


def _default_image(target_options: cluster_target.TargetOptions) -> str:
    if target_options.names_cluster() and cluster_target.resolve(target_options).local is None:
        raise errors.SettingsError("--image is required on a remote cluster")
    return unmapped_images.LOCAL_IMAGE


def _current_directory() -> str:
    directory = os.getcwd()
    if directory == "/":
        raise errors.SettingsError("cannot mount / in a pod. Change to the directory of the project or use --no-mount.")
    return directory

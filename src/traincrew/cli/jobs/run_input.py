"""The input of `traincrew run`: manifest files, or a command from which a job is generated."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import random
import re
import sys
from collections.abc import Sequence
from typing import Any

from traincrew import errors
from traincrew.cli import cluster_target, env_options
from traincrew.cli.jobs import (
    command_files,
    command_manifest,
    command_needs,
    command_suggestion,
    environment_check,
    job_environment,
    manifest_files,
    pod_environment,
    unmapped_images,
)
from traincrew.cli.render import serialization
from traincrew.embedded import data_directory
from traincrew.inspection import advice, job_references, manifests
from traincrew.kinds import job_from_command

ELASTIC_RETRIES = 3
"""Default number of retries of an elastic job, whose replicas are expected to fail and to be replaced."""
SUFFIX_CHARACTERS = "bcdfghjklmnpqrstvwxz2456789"
FILE_FLAGS = ("env_dir", "requirements")
"""Options of the environment that apply to files, too: to images without a mapping."""


def from_files(names: Sequence[str], flags: dict[str, Any]) -> manifests.ParsedManifests:
    """Read the files. Flags of generated jobs are an error."""
    suggestion = command_suggestion.suggest(names)
    if given := _flags_of_commands(flags):
        options = command_suggestion.given_options(sys.argv, names)
        if options and command_suggestion.is_script(names[0]):
            raise errors.SettingsError(command_suggestion.suggest(names, options))
        if suggestion:
            raise errors.SettingsError(command_suggestion.missing_kind(names, given[0]))
        raise errors.SettingsError(f"{given[0]} requires --kind. Add --kind KIND -- COMMAND, or set the value in the file.")
    if suggestion:
        raise errors.SettingsError(suggestion)
    missing = [name for name in names if name != manifest_files.STDIN and not pathlib.Path(name).is_file()]
    if missing:
        raise errors.ManifestError(_missing_file(missing[0]))
    return manifests.parse({name: manifest_files.read_text(name) for name in names})


def _missing_file(name: str) -> str:
    if pathlib.Path(name).is_dir():
        return f"{name} is a directory. Specify its files, such as {pathlib.Path(name, '*.yaml')}."
    return f"{name}: no such file"


def _flags_of_commands(flags: dict[str, Any]) -> list[str]:
    """The given options that generated jobs have and files do not."""
    unset = (None, "", 0, (), False)
    given = [name for name, value in flags.items() if value not in unset and name not in FILE_FLAGS]
    return [f"--{name.replace('_', '-')}" for name in given]


def guess_kind(words: tuple[str, ...], flags: dict[str, Any]) -> command_suggestion.KindGuess | None:
    """None: the words are files, or a command without options of a job, or one that does not show its kind."""
    return command_suggestion.guess(words, elastic=bool(flags["elastic"])) if _flags_of_commands(flags) else None


def from_command(
    kind: str | command_suggestion.KindGuess,
    command: tuple[str, ...],
    target_options: cluster_target.TargetOptions,
    flags: dict[str, Any],
) -> manifests.ParsedManifests:
    """Generate a job of the kind that runs the command."""
    local = _local_cluster(target_options)
    if local is None:
        _reject_environment(flags)
    guess = None if isinstance(kind, str) else kind
    job = _command_job(kind if isinstance(kind, str) else kind.kind, command, target_options.namespace, flags)
    document = command_manifest.manifest(job)
    found, warnings = _set_environment(document, job, flags, local) if local is not None else (None, [])
    notes = [*_notes(guess, str(found or "")), *warnings]
    parsed = manifests.parse({unmapped_images.GENERATED: serialization.dump(document, "yaml")})
    parsed = _with_flag_names(parsed)
    return parsed if parsed.errors else dataclasses.replace(parsed, warnings=(*notes, *parsed.warnings))


def _command_job(kind: str, command: tuple[str, ...], namespace: str, flags: dict[str, Any]) -> command_manifest.CommandJob:
    elastic = command_manifest.parse_elastic(flags["elastic"])
    workers = command_manifest.number_of_workers(flags["workers"], elastic)
    retries = flags["retries"] if flags["retries"] is not None else ELASTIC_RETRIES if elastic else 0
    suffix = "".join(random.choice(SUFFIX_CHARACTERS) for _ in range(5))
    return command_manifest.CommandJob(
        kind=job_references.find_kind(kind),
        request=job_from_command.CommandRequest(command, workers, elastic, flags["gpus"], flags["idle"], retries),
        name=flags["name"] or command_manifest.generate_name(command, suffix),
        namespace=namespace,
        image=flags["image"] or advice.LOCAL_IMAGE,
        cpu=command_manifest.parse_quantity("cpu", flags["cpu"]),
        memory=command_manifest.parse_quantity("memory", flags["memory"]),
        env=env_options.parse(flags["env"], dict(os.environ)),
        directory="" if flags["no_mount"] else _current_directory(),
    )


def _set_environment(
    document: dict[str, Any], job: command_manifest.CommandJob, flags: dict[str, Any], local: data_directory.DataDirectory
) -> tuple[job_environment.JobEnvironment | None, list[str]]:
    """Add the environment of the job to the document. Return it with warnings about it."""
    commands = pod_environment.commands(document, job.kind)
    command_files.reject_missing(job.request.command, job.directory)
    programs = [(name,) for name in job.kind.from_command(job.request).programs]
    needs = command_needs.find([*commands, *programs, job.request.command], job.directory or os.getcwd())
    choice = environment_choice(flags)
    found = job_environment.choose(choice, needs, local)
    mounts = found.pods.mounts if found and found.pods else ()
    command_files.reject_hidden(commands, [directory for directory in (job.directory, *mounts) if directory], local)
    if found is None:
        return None, []
    warnings = environment_check.check(found, choice, needs, local)
    if found.pods is not None:
        pod_environment.add(document, job.kind, found.pods)
    return found, warnings


def _notes(guess: command_suggestion.KindGuess | None, environment: str) -> list[str]:
    """One line about what the user has not named."""
    runs = f" with {environment}" if environment else ""
    if guess is None:
        return [f"The job runs{runs}."] if runs else []
    kind = f" as {guess}. It runs" if guess.why and runs else f" as {guess}"
    return [f"The job runs{kind}{runs}. Use --kind to choose another kind."]


def environment_choice(flags: dict[str, Any]) -> job_environment.Choice:
    variables = dict(env_options.parse(flags["env"], dict(os.environ)))
    return job_environment.Choice(flags["image"], flags["env_dir"], flags["requirements"], variables)


_PLACE = re.compile(rf"^{unmapped_images.GENERATED}:\d+: (?P<level>warning: )?(?P<path>[^:]+): ")
_FLAGS = (
    (re.compile(r"^metadata\.name$"), "--name"),
    (re.compile(r"\.env\[\d+\]"), "--env"),
    (re.compile(r"\.command\b"), "command"),
)


def _with_flag_names(parsed: manifests.ParsedManifests) -> manifests.ParsedManifests:
    """The user has not seen the generated manifest, in which each role repeats the command: name flags, and each thing once."""

    def named(place: re.Match[str]) -> str:
        flag = next((flag for pattern, flag in _FLAGS if re.search(pattern, place["path"])), f"generated job: {place['path']}")
        return f"{place['level'] or ''}{flag}: "

    errors, warnings = (dict.fromkeys(_PLACE.sub(named, each) for each in texts) for texts in (parsed.errors, parsed.warnings))
    return dataclasses.replace(parsed, errors=tuple(errors), warnings=tuple(warnings))


def _local_cluster(target_options: cluster_target.TargetOptions) -> data_directory.DataDirectory | None:
    """None if the user names a remote cluster."""
    if target_options.names_other_cluster():
        return cluster_target.resolve(target_options).local
    return target_options.data_directory


def _reject_environment(flags: dict[str, Any]) -> None:
    """A remote cluster runs images, and has no environments of this machine."""
    for name in FILE_FLAGS:
        if flags[name]:
            raise errors.SettingsError(f"--{name.replace('_', '-')} applies to the cluster on this machine only. Use --image.")
    if not flags["image"]:
        raise errors.SettingsError("--image is required on a remote cluster")


def _current_directory() -> str:
    directory = os.getcwd()
    if directory == "/":
        raise errors.SettingsError("cannot mount / in a pod. Change to the directory of the project or use --no-mount.")
    return directory

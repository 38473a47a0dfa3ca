"""The environment of a job that `traincrew run` creates on the cluster of this machine."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import shlex
from collections.abc import Mapping, Sequence

from traincrew import errors
from traincrew.apimachinery import suggestions
from traincrew.cli.jobs import python_environment, requirements_environment
from traincrew.cli.jobs.command_needs import CommandNeeds
from traincrew.cli.jobs.pod_environment import PodEnvironment
from traincrew.cli.local_cluster import environments, framework_environments
from traincrew.cli.render import terminal
from traincrew.embedded import data_directory
from traincrew.embedded.kubelet.envvars import process_config
from traincrew.embedded.kubelet.images import default_environment
from traincrew.embedded.kubelet.images.environment import EnvironmentNotFound
from traincrew.embedded.kubelet.images.resolver import ImageResolver
from traincrew.inspection import advice

POD_HOME = "/root"


@dataclasses.dataclass(frozen=True)
class Choice:
    """What the user says about the environment."""

    image: str = ""
    env_dir: str = ""
    requirements: str = ""
    variables: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Of --env. They apply in pods only."""

    def __post_init__(self) -> None:
        given = [flag for flag in ("image", "env_dir", "requirements") if getattr(self, flag)]
        if len(given) > 1:
            flags = " and ".join(f"--{flag.replace('_', '-')}" for flag in given)
            raise errors.SettingsError(f"{flags} exclude each other: each of them names the environment of the job. Use one.")


@dataclasses.dataclass(frozen=True)
class JobEnvironment:
    python: python_environment.PythonEnvironment
    pods: PodEnvironment | None
    """None: the image selects the environment."""
    image: str = ""

    def __str__(self) -> str:
        return f"{self.python} (image {self.image})" if self.image else str(self.python)


def choose(choice: Choice, needs: CommandNeeds, data: data_directory.DataDirectory) -> JobEnvironment | None:
    """None if an image is chosen whose environment has no Python."""
    environ = dict(os.environ)
    if choice.image and (directory := _directory_of_image(choice.image, data.data)):
        try:
            python = python_environment.in_directory(directory, environ, needs.modules, "the environment")
        except errors.SettingsError:
            return None
        return JobEnvironment(python, None, choice.image)
    if choice.env_dir:
        python = python_environment.in_directory(os.path.abspath(os.path.expanduser(choice.env_dir)), environ, needs.modules)
    elif choice.requirements:
        base = python_environment.of_caller(environ, program=_callers_python(needs, environ))
        report = lambda text: terminal.echo(text, err=True)  # noqa: E731
        directory = requirements_environment.build(choice.requirements, base, report)
        python = python_environment.in_directory(directory, environ, needs.modules)
    elif needs.interpreter:
        python = python_environment.of_interpreter(needs.interpreter, environ, needs.modules)
    else:
        python = python_environment.of_caller(environ, needs.modules, _callers_python(needs, environ))
    return JobEnvironment(python, for_pods(python, environ))


def _callers_python(needs: CommandNeeds, environ: Mapping[str, str]) -> str:
    """The Python of the command, if the caller has it. `check` reports commands whose Python only traincrew has. The command of
    a manifest is not that of the caller."""
    return "" if needs.programs and python_environment.only_of_traincrew(needs.python, environ) else needs.python


def for_pods(python: python_environment.PythonEnvironment, environ: Mapping[str, str]) -> PodEnvironment:
    directories = (*default_environment.prefixes(python.prefix), *filter(None, [python.user_base]))
    mounts = [mount.source for mount in default_environment.visible_mounts(*directories)]
    variables = {}
    path = [entry for entry in environ.get("PATH", "").split(os.pathsep) if os.path.isdir(entry) and _is_visible(entry, mounts)]
    if set(path) - {os.path.join(python.prefix, "bin"), *process_config.PATH}:
        variables["PATH"] = os.pathsep.join(dict.fromkeys((*path, *process_config.PATH)))
    if python.user_base and python.user_base != f"{POD_HOME}/.local":
        variables["PYTHONUSERBASE"] = python.user_base
    return PodEnvironment(python.prefix, variables, tuple(mounts))


def _is_visible(directory: str, mounts: Sequence[str]) -> bool:
    return not default_environment.is_hidden(directory) or any(f"{directory}/".startswith(f"{each}/") for each in mounts)


def _directory_of_image(image: str, data: pathlib.Path) -> str:
    """The environment that the image map names for the image; empty if the mapping names none. Raise SettingsError if the image
    has no mapping: the user means a certain environment."""
    found = ImageResolver.load(data).resolve(image)
    if isinstance(found, EnvironmentNotFound):
        raise errors.SettingsError(f"--image {image}: {found.message}")
    if not found.mapped and image != advice.LOCAL_IMAGE:
        raise errors.SettingsError(_not_mapped(image, [each.image for each in environments.mapped(data)]))
    return found.path[0].removesuffix("/bin") if found.mapped and found.path else ""


def _not_mapped(image: str, known: Sequence[str]) -> str:
    """People leave out the first part of the name, or the tag."""
    if build := framework_environments.on_image(image):
        return f"image {image} has no mapping. Nothing was created. {build}"
    by_last_part = {_last_part(name): name for name in reversed(known)}
    similar = suggestions.nearest(image, known) or by_last_part.get(suggestions.nearest(_last_part(image), by_last_part), "")
    return (
        f"image {image} has no mapping: no environment of this machine belongs to it. Nothing was created."
        f"{f' Did you mean {similar}?' if similar else ''} Run `traincrew image set {shlex.quote(image)} --env-dir DIR` "
        "to map it, `traincrew image list` to see the mappings, or omit --image to use your own environment."
    )


def _last_part(image: str) -> str:
    return image.rpartition("/")[2].partition(":")[0]

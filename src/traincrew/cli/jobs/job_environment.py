"""The environment of a job that `traincrew run` creates on the cluster of this machine, and whether it can run the command."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import shlex
import shutil
import sys
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
        base = python_environment.of_caller(environ)
        report = lambda text: terminal.echo(text, err=True)  # noqa: E731
        directory = requirements_environment.build(choice.requirements, base, report)
        python = python_environment.in_directory(directory, environ, needs.modules)
    elif needs.interpreter:
        python = python_environment.of_interpreter(needs.interpreter, environ, needs.modules)
    else:
        python = python_environment.of_caller(environ, needs.modules)
    return JobEnvironment(python, for_pods(python, environ))


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


def check(found: JobEnvironment, choice: Choice, needs: CommandNeeds, data: data_directory.DataDirectory) -> list[str]:
    """Warnings. Raise SettingsError if the command cannot run in the environment."""
    others = environments.mapped(data.data)
    path = os.pathsep.join((os.path.join(found.python.prefix, "bin"), os.environ.get("PATH", ""), *process_config.PATH))
    missing = found.python.missing if "PYTHONPATH" not in choice.variables and needs.certain else ()
    suitable = environments.with_modules(others, missing) if missing else []
    for program in needs.programs:
        if not suitable and shutil.which(program, path=path) is None:
            raise errors.SettingsError(_no_program(program, found, path, others, needs.modules))
    if not missing:
        return []
    what = f"The command imports {', '.join(missing)}. {found} does not have {_it(missing)}"
    if suitable:
        raise errors.SettingsError(f"{what}, but image {suitable[0].image} does. {_run_instead(suitable[0])}")
    remedy = "Install what is missing, or choose another environment with --env-dir, --requirements or --image."
    return [" ".join(filter(None, (f"warning: {what}. {remedy}", framework_environments.on_modules(missing))))]


def missing_modules_of_image(image: str, found: JobEnvironment, data: data_directory.DataDirectory) -> str:
    """A warning about an image without a mapping whose command imports modules that the environment does not have.

    Raise SettingsError if an environment of this machine has them.
    """
    missing = found.python.missing
    what = f"The command of image {image} imports {', '.join(missing)}, and {found} does not have {_it(missing)}"
    mapping = f"traincrew image set {shlex.quote(image)} --env-dir"
    for each in environments.with_modules(environments.mapped(data.data), missing):
        raise errors.SettingsError(
            f"{what}, but the environment of image {each.image} does. Nothing was created. Map the image to it, and run again:\n"
            f"  {mapping} {shlex.quote(each.directory)}"
        )
    remedy = f"Install what is missing there, or map the image to another environment: `{mapping} DIR`."
    return " ".join(filter(None, (f"warning: {what}. {remedy}", framework_environments.on_modules(missing))))


def _it(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "them"


def _no_program(
    program: str,
    found: JobEnvironment,
    path: str,
    others: Sequence[environments.ImageEnvironment],
    modules: Sequence[str],
) -> str:
    if program.partition("=")[0].isidentifier() and "=" in program:
        return f"{program} is not a program. Write `--env {program}` before `--` to set a variable."
    what = f"{program} is not in the PATH of {found}"
    if program == "python" and shutil.which("python3", path=path):
        return f"{what}. Use python3."
    suitable = next((each for each in others if each.has_program(program)), None)
    if suitable:
        return f"{what}, but image {suitable.image} has it. {_run_instead(suitable)}"
    build = framework_environments.on_program(program, modules)
    return f"{what}. Install it there." if not build else f"{what}. Install it there, or build an environment: {build}"


def _run_instead(environment: environments.ImageEnvironment) -> str:
    return f"Nothing was created. Run:\n  {command_with_image(sys.argv, environment.image)}"


def command_with_image(argv: Sequence[str], image: str) -> str:
    """The command line of this process with another environment."""
    program = argv[0] if os.path.basename(argv[0]) == "traincrew" else "traincrew"
    words, skip = [program, argv[1], "--image", image], False
    options = list(argv[2:])
    end = options.index("--") if "--" in options else len(options)
    for word in options[:end]:
        if skip or word.startswith(("--image=", "--env-dir=", "--requirements=")):
            skip = False
        elif word in ("--image", "--env-dir", "--requirements"):
            skip = True
        else:
            words.append(word)
    return shlex.join((*words, *options[end:]))

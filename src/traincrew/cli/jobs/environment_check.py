"""Whether the environment of a job can run its command: the programs, and the modules that the command imports."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence

from traincrew import errors
from traincrew.apimachinery import suggestions
from traincrew.cli.jobs import command_suggestion, missing_modules, python_environment
from traincrew.cli.jobs.command_needs import CommandNeeds
from traincrew.cli.jobs.job_environment import Choice, JobEnvironment
from traincrew.cli.local_cluster import environments, framework_environments
from traincrew.embedded import data_directory
from traincrew.embedded.kubelet.envvars import process_config

PROGRAMS = ("python", "python3", "bash", "torchrun", "mpirun", "horovodrun")
"""With which commands of jobs begin, and which people misspell."""


def check(found: JobEnvironment, choice: Choice, needs: CommandNeeds, data: data_directory.DataDirectory) -> list[str]:
    """Warnings. Raise SettingsError if the command cannot run in the environment."""
    others = environments.mapped(data.data)
    path = os.pathsep.join((os.path.join(found.python.prefix, "bin"), os.environ.get("PATH", ""), *process_config.PATH))
    missing = found.python.missing if "PYTHONPATH" not in choice.variables and needs.certain else ()
    suitable = missing_modules.find(others, missing)
    for program in needs.programs:
        if not suitable and _is_missing(program, found, path):
            raise errors.SettingsError(_no_program(program, found, path, others, needs.modules))
    if not missing:
        return []
    what = f"The command imports {', '.join(missing)}. {found} does not have {missing_modules.it(missing)}"
    if suitable is not None:
        run = command_with_image(sys.argv, suitable.environment.image)
        raise errors.SettingsError(f"{what}, but image {suitable} Nothing was created. {suitable.steps('Run', run)}")
    install = f"Install what is missing: `{missing_modules.installation(found.python.prefix, missing)}`"
    remedy = f"{install}, or choose another environment with --env-dir, --requirements or --image."
    return [missing_modules.warning(what, remedy, missing)]


def _is_missing(program: str, found: JobEnvironment, path: str) -> bool:
    """The Python of traincrew is not that of the environment."""
    where = shutil.which(program, path=path)
    return where is None or where == _other_python(program, found)


def _other_python(program: str, found: JobEnvironment) -> str:
    """The path of an interpreter that only traincrew has, if the job runs in another environment."""
    own = python_environment.only_of_traincrew(program, os.environ) if program.startswith("python") else ""
    return own if os.path.dirname(own) != os.path.join(found.python.prefix, "bin") else ""


def of_unmapped_image(image: str, found: JobEnvironment, data: data_directory.DataDirectory) -> str:
    """A warning about an image without a mapping whose command imports modules that the environment does not have.

    Raise SettingsError if an environment of this machine has them, or the frameworks among them.
    """
    missing = found.python.missing
    what = f"The command of image {image} imports {', '.join(missing)}, and {found} does not have {missing_modules.it(missing)}"
    mapping = f"traincrew image set {shlex.quote(image)} --env-dir"
    if suitable := missing_modules.find(environments.mapped(data.data), missing):
        steps = suitable.steps("Map the image to it, and run again", f"{mapping} {shlex.quote(suitable.environment.directory)}")
        raise errors.SettingsError(f"{what}, but the environment of image {suitable} Nothing was created. {steps}")
    install = f"Install what is missing there: `{missing_modules.installation(found.python.prefix, missing)}`"
    remedy = f"{install}, or map the image to another environment: `{mapping} DIR`."
    return missing_modules.warning(what, remedy, missing)


def _no_program(
    program: str,
    found: JobEnvironment,
    path: str,
    others: Sequence[environments.ImageEnvironment],
    modules: Sequence[str],
) -> str:
    if program.partition("=")[0].isidentifier() and "=" in program:
        return f"{program} is not a program. Write `--env {program}` before `--` to set a variable."
    if own := _other_python(program, found):
        yours = f"Use {os.path.basename(found.python.python)} for your own Python"
        what = f"{program} in the PATH is only that of traincrew ({own}), and the job would run with {found}"
        return f"{what}. Nothing was created. {yours}, or --env-dir {shlex.quote(sys.prefix)} for that of traincrew."
    what = f"{program} is not in the PATH of {found}"
    if program == "python" and shutil.which("python3", path=path):
        return f"{what}. Use python3."
    if command_suggestion.is_script(program):
        return f"{program} is a script, not a program. Nothing was created. Use `{command_suggestion.with_interpreter(program)}`."
    suitable = next((each for each in others if each.has_program(program)), None)
    if suitable:
        run = command_with_image(sys.argv, suitable.image)
        return f"{what}, but image {suitable.image} has it. Nothing was created. Run:\n  {run}"
    if meant := suggestions.nearest(program, [each for each in PROGRAMS if shutil.which(each, path=path)]):
        return f"{what}. Nothing was created. Did you mean {meant}?"
    build = framework_environments.on_program(program, modules)
    return f"{what}. Install it there." if not build else f"{what}. Install it there, or build an environment: {build}"


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

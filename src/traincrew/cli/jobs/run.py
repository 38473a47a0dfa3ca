"""What `traincrew run` does: read or make the jobs, find or start the cluster, submit, stay, clean up."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
import pathlib
import random
import re
import signal
import sys
from collections.abc import Sequence
from typing import Any

from traincrew import errors
from traincrew.cli import target
from traincrew.cli.jobs import default_images, manifests
from traincrew.cli.jobs import job_from_command as making
from traincrew.cli.jobs import names as jobs_names
from traincrew.cli.render import objects
from traincrew.kinds import job_from_command

RETRIES = 3
"""Of an elastic job: it is made for replicas that come and go."""
CHARACTERS = "bcdfghjklmnpqrstvwxz2456789"
STDIN = "-"
MADE = "generated job"


@dataclasses.dataclass(frozen=True)
class Options:
    dry_run: bool = False
    form: str = "yaml"
    detach: bool = False
    remove: bool = False
    replace: bool = False


OPTIONS = tuple(field.name for field in dataclasses.fields(Options))


def of_files(names: Sequence[str], flags: dict[str, Any]) -> manifests.Reading:
    given = [
        name for name, value in flags.items() if value not in (None, "", 0, (), False) and not (name == "workers" and value == 1)
    ]
    if given:
        flag = given[0].replace("_", "-")
        raise errors.SettingsError(f"--{flag} requires --kind. Add --kind KIND -- COMMAND, or set the value in the file.")
    missing = [name for name in names if name != STDIN and not pathlib.Path(name).is_file()]
    if missing:
        raise errors.ManifestError(_not_there(missing[0], first=missing[0] == names[0]))
    return manifests.read({name: _text(name) for name in names})


def _not_there(name: str, *, first: bool) -> str:
    if pathlib.Path(name).is_dir():
        return f"{name} is a directory. Specify its files, such as {pathlib.Path(name, '*.yaml')}."
    # A command's first word is rarely a file here, though its script is.
    hint = ". To run a command, specify the kind of job: --kind PyTorchJob -- COMMAND." if first else ""
    return f"{name}: no such file{hint}"


def _text(name: str) -> str:
    try:
        return (sys.stdin.buffer.read() if name == STDIN else pathlib.Path(name).read_bytes()).decode()
    except OSError as error:
        raise errors.ManifestError(f"{name}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise errors.ManifestError(f"{name}: not UTF-8 text (byte {error.start})") from error


def of_command(kind: str, command: tuple[str, ...], where: target.TargetOptions, flags: dict[str, Any]) -> manifests.Reading:
    found = jobs_names.find_kind(kind)
    elastic = making.elastic(flags["elastic"])
    workers = flags["workers"]
    if elastic is not None:
        workers = min(max(workers, elastic[0]), elastic[1])
    suffix = "".join(random.choice(CHARACTERS) for _ in range(5))
    order = making.Order(
        kind=found,
        wish=job_from_command.CommandRequest(command, workers, elastic, flags["gpus"]),
        name=flags["name"] or making.name_for(command, suffix),
        namespace=where.namespace,
        image=flags["image"] or _image(where),
        cpu=making.quantity("cpu", flags["cpu"]),
        memory=making.quantity("memory", flags["memory"]),
        env=making.variables(flags["env"], dict(os.environ)),
        retries=flags["retries"] if flags["retries"] is not None else RETRIES if elastic else 0,
        directory="" if flags["no_mount"] else _directory(),
    )
    return _with_flags(manifests.read({MADE: objects.rendered(making.manifest(order), "yaml")}))


def _with_flags(wanted: manifests.Reading) -> manifests.Reading:
    """A fault of the name is told by the flag that gave it: nobody has seen the line it stands in."""
    named = re.compile(rf"{MADE}:\d+: metadata\.name:")
    return dataclasses.replace(wanted, errors=tuple(named.sub("--name:", each) for each in wanted.errors))


def _image(where: target.TargetOptions) -> str:
    if where.names_a_cluster() and target.target(where).local is None:
        raise errors.SettingsError("--image is required on a remote cluster")
    return default_images.LOCAL_IMAGE


def _directory() -> str:
    here = os.getcwd()
    if here == "/":
        raise errors.SettingsError("cannot mount / in a pod. Change to the directory of the project or use --no-mount.")
    return here


async def run(wanted: manifests.Reading, where: target.TargetOptions, options: Options) -> int:
    from traincrew.cli.render.screen import Screen

    logging.getLogger("traincrew").addHandler(logging.NullHandler())  # what is wrong with a watch is shown as state
    screen = Screen(sys.stdout.buffer, sys.stderr.buffer)
    for each in (*wanted.warnings, *wanted.errors):
        screen.say(each)
    if wanted.errors:
        count = len(wanted.errors)
        raise errors.ManifestError(f"{count} {'error' if count == 1 else 'errors'} in the manifests. Nothing was submitted.")
    if options.dry_run:
        _print(wanted, options.form)
        return 0
    where = _with_cluster(where, screen.say)
    from traincrew.cli.jobs import run_session

    return await run_session.stay(wanted.objects, where, options, screen)


def _print(wanted: manifests.Reading, form: str) -> None:
    documents = [each.document for each in wanted.objects]
    if form == "json":
        objects.show(documents[0] if len(documents) == 1 else objects.listed(documents), "json")
    else:
        sys.stdout.write("---\n".join(objects.rendered(document, "yaml") for document in documents))


def _with_cluster(where: target.TargetOptions, say: Any) -> target.TargetOptions:
    """Starts the cluster of this machine if nobody has named another and it does not run."""
    if where.names_a_cluster() or where.place.running() is not None:
        return where
    from traincrew.cli.commands import up

    with contextlib.redirect_stdout(sys.stderr):
        up.in_the_background(where.place, ["up", "--data", str(where.place.data)])
    say(f"Started the cluster on this machine in {where.place.data}. Run `traincrew down` to stop it.")
    return where


def interrupted(number: int) -> int:
    return 128 + (number or signal.SIGINT)

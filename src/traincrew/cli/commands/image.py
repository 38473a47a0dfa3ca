"""`traincrew image`: map image names to environments on this machine."""

from __future__ import annotations

from typing import Any

import click

from traincrew.cli import completions, output_options
from traincrew.cli.render import serialization, terminal


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def image() -> None:
    """Map image names to environments on this machine. The embedded cluster does not pull images.

    A change applies to containers that start afterwards, also on a running cluster. A container whose image has no mapping runs
    in the environment that `traincrew up` was started from.

    \b
    traincrew image set 'pytorch/pytorch:*' --env-dir ~/venvs/torch
    traincrew image list
    traincrew image rm 'pytorch/pytorch:*'
    """


def _file_options(command: Any) -> Any:
    """--data and --cluster: the file of one cluster instead of the user's."""
    command = click.option(
        "--data", metavar="DIR", default="", help="Use the mapping of the cluster in DIR, which overrides the user's mapping."
    )(command)
    return click.option("--cluster", is_flag=True, help="Use the mapping of the cluster in the default data directory.")(command)


@image.command("set")
@click.argument("pattern", metavar="PATTERN")
@click.option(
    "--env-dir",
    "environment",
    metavar="DIR",
    default="",
    shell_complete=completions.environments,
    help="Virtual environment or prefix with a bin directory.",
)
@click.option(
    "--mount", "mounts", multiple=True, metavar="SRC:DST[:ro]", help="Mount SRC of this machine at DST. May be repeated."
)
@click.option("--workdir", metavar="DIR", default="", help="Default working directory of containers.")
@click.option("--command", metavar="WORDS", default="", help="Default command of containers.")
@click.option(
    "-e",
    "--env",
    "variables",
    multiple=True,
    metavar="NAME=VALUE",
    help="Environment variable. May be repeated. NAME alone takes the value from the current environment.",
)
@click.option("--libraries", is_flag=True, help="Add the environment's lib directory to LD_LIBRARY_PATH.")
@output_options.option()
@_file_options
def set_(pattern: str, data: str, cluster: bool, form: str, **flags: Any) -> None:
    """Map the images that match PATTERN to an environment. An existing mapping of PATTERN is replaced.

    `*` matches any characters and `?` matches one. A pattern without a tag matches every tag. The most specific pattern wins.
    Quote the pattern so that the shell does not expand it.

    \b
    traincrew image set 'tensorflow/tensorflow:2.*' --env-dir /opt/tf -e OMP_NUM_THREADS=1
    traincrew image set registry.example/mnist --mount ~/mnist:/data:ro --workdir /data --command 'python train.py'
    """
    from traincrew.cli.local_cluster import image_mappings

    entry = image_mappings.parse_entry(pattern, flags)
    image_mappings.set_entry(image_mappings.file(data, cluster), entry)
    if form in ("json", "yaml"):
        serialization.show(entry.plain(), form)
    else:
        terminal.echo(pattern if form == "name" else f"image {pattern!r} mapped to {image_mappings.describe(entry)}")


@image.command("list")
@output_options.option("wide")
@_file_options
def list_(data: str, cluster: bool, form: str) -> None:
    """List the image mappings of the user and of the cluster on this machine. The cluster's mappings override the user's.

    -o wide prints the mounts, variables, commands and working directories that a mapping adds.
    """
    from traincrew.cli.local_cluster import image_mappings

    found = image_mappings.entries(data, cluster)
    if form in ("json", "yaml"):
        serialization.show([{**entry.plain(), "file": str(path)} for path, entry in found], form)
    elif form == "name":
        terminal.echo("".join(f"{entry.pattern}\n" for _, entry in found), nl=False)
    elif not found:
        terminal.echo("No image mappings. All images run in the environment that `traincrew up` was started from.")
    else:
        terminal.echo(image_mappings.table(found, wide=form == "wide"))


@image.command("rm")
@click.argument("pattern", metavar="PATTERN", shell_complete=completions.image_patterns)
@output_options.option()
@_file_options
def rm(pattern: str, data: str, cluster: bool, form: str) -> None:
    """Remove the mapping of PATTERN."""
    from traincrew.cli.local_cluster import image_mappings

    removed = image_mappings.remove(image_mappings.file(data, cluster), pattern)
    if form in ("json", "yaml"):
        serialization.show(removed.plain(), form)
    else:
        terminal.echo(pattern if form == "name" else f"image {pattern!r} removed")

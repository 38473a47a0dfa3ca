"""`traincrew validate`: validate manifests without a cluster."""

from __future__ import annotations

import sys

import click

from traincrew.cli import output_options
from traincrew.cli.render import serialization, terminal


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@output_options.option()
def validate(files: tuple[str, ...], form: str) -> None:
    """Validate manifests without a cluster: YAML or JSON files, directories, or - for standard input.

    Each error is printed as file:line: path: message. The exit code is 0 if there are no errors, 1 if there are errors (warnings
    do not count), 2 if a file cannot be read. Objects of other kinds than training jobs are skipped.
    -o name prints the files that have errors.

    \b
    traincrew validate job.yaml manifests/
    helm template chart | traincrew validate -
    """
    from traincrew.cli.jobs import manifest_files
    from traincrew.cli.render import validation_report

    reviews, unreadable = manifest_files.review_all(files)
    for error in unreadable:
        terminal.echo(f"error: {error}", err=True)
    if form in ("json", "yaml"):
        serialization.show(validation_report.as_json(reviews), form)
    elif form == "name":
        terminal.echo("".join(f"{file}\n" for file in validation_report.invalid_files(reviews)), nl=False)
    elif reviews or not unreadable:  # a summary without any readable file would claim that there are no errors
        terminal.echo(validation_report.as_text(reviews))
    sys.exit(2 if unreadable else 1 if validation_report.has_errors(reviews) else 0)

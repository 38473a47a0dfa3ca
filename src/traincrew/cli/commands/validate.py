"""`traincrew validate`: validate manifests without a cluster."""

from __future__ import annotations

import sys

import click

from traincrew.cli.render import terminal


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--output", "-o", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output format.")
def validate(files: tuple[str, ...], output: str) -> None:
    """Validate manifests without a cluster: YAML or JSON files, directories, or - for standard input.

    Each error is printed as file:line: path: message. The exit code is 0 if there are no errors, 1 if there are errors (warnings
    do not count), 2 if a file cannot be read. Objects of other kinds than training jobs are skipped.
    """
    from traincrew.cli.jobs import manifest_files
    from traincrew.cli.render import validation_report

    reviews, unreadable = manifest_files.review_all(files)
    for error in unreadable:
        terminal.echo(f"error: {error}", err=True)
    # A summary without any readable file would claim that there are no errors.
    if reviews or output == "json" or not unreadable:
        if output == "json":
            terminal.echo_unchanged(validation_report.as_json(reviews))
        else:
            terminal.echo(validation_report.as_text(reviews))
    sys.exit(2 if unreadable else 1 if validation_report.has_errors(reviews) else 0)

"""The way of all output to the terminal."""

from __future__ import annotations

import click

from traincrew.apimachinery.terminal_text import printable


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print text for people. It may contain what others have written into the API."""
    click.echo(printable(text), err=err, nl=nl)  # noqa: TID251 - here it is


def echo_unchanged(text: str, *, nl: bool = True) -> None:
    """Print a document for programs: JSON, YAML, a file. Or text that is styled, and printable already."""
    click.echo(text, nl=nl)  # noqa: TID251 - here it is

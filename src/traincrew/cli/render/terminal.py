"""The way of all output to the terminal."""

from __future__ import annotations

import re
import sys

import click

from traincrew.apimachinery.terminal_text import printable


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print text for people. It may contain what others have written into the API."""
    click.echo(printable(text), err=err, nl=nl)  # noqa: TID251 - here it is


_STATE_COLOURS = {"Failed": "red", "Succeeded": "green", "Running": "cyan", "Restarting": "yellow", "Suspended": "yellow"}
_STATE = re.compile(rf"\b({'|'.join(_STATE_COLOURS)})\b")


def styled_states(table: str) -> str:
    """The table with the state of each line in colour. Names and kinds, which come before it, do not look like a state."""
    return "\n".join(
        _STATE.sub(lambda match: click.style(match[0], _STATE_COLOURS[match[0]]), line, 1) for line in table.split("\n")
    )


def page(text: str) -> str:
    """A page for a screen: printable, with its states in colour unless the user wants no colours."""
    context = click.get_current_context(silent=True)
    plain = context is not None and context.color is False
    return printable(text) if plain else styled_states(printable(text))


def write(text: str) -> None:
    """Write to the screen, with control sequences. The text of others in it is printable already."""
    sys.stdout.write(text)
    sys.stdout.flush()


def echo_unchanged(text: str, *, nl: bool = True) -> None:
    """Print a document for programs: JSON, YAML, a file. Or text that is styled, and printable already."""
    click.echo(text, nl=nl)  # noqa: TID251 - here it is

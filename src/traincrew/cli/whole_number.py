"""Numbers of the command line."""

from __future__ import annotations

import click


class WholeNumber(click.IntRange):
    """An integer within limits. Its name is part of the error: `'x' is not a valid whole number.`"""

    name = "whole number"

    def _describe_range(self) -> str:
        """In words, for errors and `--help`."""
        if self.max is None:
            return f"{self.min} or more"
        return f"{self.min} to {self.max}"

"""Numbers of the command line that need not be whole."""

from __future__ import annotations

import click


class DecimalNumber(click.FloatRange):
    """A number within limits. Its name is part of the error: `'x' is not a valid number.`"""

    name = "number"

    def _describe_range(self) -> str:
        """In words, for errors and `--help`."""
        if self.max is None:
            return f"{self.min:g} or more"
        return f"{self.min:g} to {self.max:g}"

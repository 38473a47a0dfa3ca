"""The flags of the history: where it is, and how much is kept."""

from __future__ import annotations

import click

from traincrew import errors, settings
from traincrew.cli import size_arguments
from traincrew.cli.option_group import add_options
from traincrew.cli.whole_number import WholeNumber
from traincrew.history import locations

_DAY = 86400.0
_MINIMUM = "1Mi"
location = click.option(
    "--history", metavar="LOCATION", envvar="TRAINCREW_HISTORY", default="",
    help="Location of the history: a SQLite file, or postgresql://USER:PASSWORD@HOST/DATABASE. Default: $TRAINCREW_HISTORY, "
         "which hides the password from other users of the machine.",
)  # fmt: skip
add_limits = add_options((
    click.option("--max-age", type=WholeNumber(1), default=round(settings.History.max_age_seconds / _DAY), show_default=True,
                 metavar="DAYS", help="Number of days to keep deleted jobs."),
    click.option("--max-size", default=size_arguments.text(settings.History.max_bytes), show_default=True, metavar="SIZE",
                 help="Maximum size of the history. The jobs that were deleted first are removed first."),
    click.option("--max-log-size", default=size_arguments.text(settings.History.max_log_bytes), show_default=True, metavar="SIZE",
                 help="Maximum compressed size of the copied log of one container. Its oldest lines are removed first."),
))  # fmt: skip


def parse(max_age: int, max_size: str, max_log_size: str, namespaces: tuple[str, ...]) -> settings.History:
    """Raise SettingsError."""
    return settings.History(
        max_age_seconds=max_age * _DAY,
        max_bytes=size_arguments.parse("--max-size", max_size, _MINIMUM),
        max_log_bytes=size_arguments.parse("--max-log-size", max_log_size, _MINIMUM),
        namespaces=tuple(dict.fromkeys(name for name in namespaces if name)),
    )


def checked(found: str) -> str:
    """A location as the user wrote it, in which a scheme is spelled right. Raise SettingsError."""
    scheme = locations.scheme(found)
    if scheme and scheme not in locations.POSTGRES_SCHEMES:
        raise errors.SettingsError(f"--history: {scheme}:// is not supported. Use postgresql://… or the path of a file.")
    return found

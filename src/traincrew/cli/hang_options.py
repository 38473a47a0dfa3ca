"""The options of verbs that report jobs which seem to hang: after how much silence."""

from __future__ import annotations

import dataclasses

import click

from traincrew.cli.option_group import option_group

SILENT_AFTER, DIFFERS_AFTER = "5m", "2m"


@dataclasses.dataclass(frozen=True)
class HangOptions:
    silent_after: str = SILENT_AFTER
    differs_after: str = DIFFERS_AFTER


_OPTIONS = (
    click.option(
        "--silent-after",
        metavar="DURATION",
        default=SILENT_AFTER,
        envvar="TRAINCREW_SILENT_AFTER",
        show_default=True,
        help="Report a running job if no replica has printed anything for this long. Also $TRAINCREW_SILENT_AFTER.",
    ),
    click.option(
        "--differs-after",
        metavar="DURATION",
        default=DIFFERS_AFTER,
        envvar="TRAINCREW_DIFFERS_AFTER",
        show_default=True,
        help="Report a replica that differs from the others and has printed nothing for this long. "
        "Also $TRAINCREW_DIFFERS_AFTER.",
    ),
)

options = option_group("hang_options", HangOptions, _OPTIONS)

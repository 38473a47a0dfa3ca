"""The option of verbs that read a recording file in place of a cluster."""

from __future__ import annotations

import click

recording = click.option(
    "--recording", metavar="FILE", default="", help="Read a recording of `traincrew export`. No cluster is needed."
)

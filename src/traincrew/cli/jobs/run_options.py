"""The options of `traincrew run` that say what becomes of the jobs."""

from __future__ import annotations

import dataclasses

from traincrew.cli.jobs import job_environment


@dataclasses.dataclass(frozen=True)
class RunOptions:
    dry_run: bool = False
    form: str = ""
    """Of --dry-run, whose default is yaml, and of --detach, which prints no objects without it."""
    detach: bool = False
    remove: bool = False
    replace: bool = False
    timeout: int = 0
    """Seconds after which an unfinished job is deleted. 0: none."""
    wait_forever: bool = False
    environment: job_environment.Choice = dataclasses.field(default_factory=job_environment.Choice)


OPTION_NAMES = ("dry_run", "form", "detach", "remove", "replace", "wait_forever")
"""Options of the command line that are passed on unchanged."""

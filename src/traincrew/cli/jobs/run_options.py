"""The options of `traincrew run` that say what becomes of the jobs."""

from __future__ import annotations

import dataclasses

from traincrew import errors
from traincrew.cli.hang_options import HangOptions
from traincrew.cli.jobs import job_environment, time_arguments


@dataclasses.dataclass(frozen=True)
class RunOptions:
    dry_run: bool = False
    form: str = ""
    """Of --dry-run, whose default is yaml, and of --detach, which prints no objects without it."""
    detach: bool = False
    remove: bool = False
    replace: bool = False
    timeout: str = ""
    """How long a job may take before it is deleted, as the user typed it. Empty: any time."""
    wait_forever: bool = False
    hang: HangOptions = HangOptions()
    environment: job_environment.Choice = dataclasses.field(default_factory=job_environment.Choice)

    def __post_init__(self) -> None:
        """Raise SettingsError for options that exclude each other, and for invalid durations."""
        if self.form and not self.dry_run and not self.detach:
            text = "-o requires --dry-run or --detach. Use `traincrew ls -o json` to print jobs of the cluster."
            raise errors.SettingsError(text)
        if self.timeout and self.detach:
            text = "--timeout cannot be used with --detach, which does not wait. Set runPolicy.activeDeadlineSeconds of the job."
            raise errors.SettingsError(text)
        for text in filter(None, (self.timeout, self.hang.silent_after, self.hang.differs_after)):
            time_arguments.parse_duration(text)

    @property
    def timeout_seconds(self) -> float | None:
        return time_arguments.parse_duration(self.timeout) if self.timeout else None


OPTION_NAMES = ("dry_run", "form", "detach", "remove", "replace", "wait_forever", "timeout")
"""Options of the command line that are passed on unchanged."""

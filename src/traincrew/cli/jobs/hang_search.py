"""The search for hangs that the options of a verb ask for."""

from __future__ import annotations

import datetime as dt
import pathlib
from typing import TYPE_CHECKING

from traincrew.cli import cluster_target, py_spy
from traincrew.cli.hang_options import HangOptions
from traincrew.cli.jobs import time_arguments
from traincrew.diagnosis import hang

if TYPE_CHECKING:
    from traincrew.client.remote import RemoteClient
    from traincrew.inspection import activity_query, observed_job
    from traincrew.model import objects


def limits(options: HangOptions) -> hang.HangLimits:
    """Raise SettingsError for invalid durations."""
    silent, differs = (time_arguments.parse_duration(each) for each in (options.silent_after, options.differs_after))
    return hang.HangLimits(dt.timedelta(seconds=silent), dt.timedelta(seconds=differs))


def for_target(
    options: HangOptions, target: cluster_target.ClusterTarget, *, read_stacks: bool = False, logs: bool = True
) -> activity_query.HangSearch:
    """With the stacks on the cluster of this machine, if py-spy is installed; elsewhere if the user asks for them."""
    from traincrew.inspection import activity_query  # loads the HTTP library: `query` must be the first

    data = target.local.data if target.local is not None else None
    missing = data is not None and py_spy.find() is None
    reader = _main_thread_reader(data) if read_stacks or (data is not None and not missing) else None
    install = py_spy.install_command() if missing else ""
    return activity_query.HangSearch(limits(options), logs, read_stack=reader, install=install)


def _main_thread_reader(data: pathlib.Path | None) -> activity_query.StackReader:
    """data: the data directory, if the cluster runs on this machine."""

    async def read(client: RemoteClient, job: observed_job.ObservedJob, pod: objects.Pod) -> tuple[str, ...]:
        from traincrew.cli.jobs import stacks  # few jobs hang

        return (await stacks.read(client, job, pod, stacks.StacksRequest(), data)).main_thread()

    return read

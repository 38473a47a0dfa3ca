"""The search for hangs that the options of a verb ask for."""

from __future__ import annotations

import datetime as dt
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

    missing = target.local is not None and py_spy.find() is None
    automatic = target.local is not None and not missing
    reader = _main_thread_reader(target, elsewhere=read_stacks) if read_stacks or automatic else None
    install = py_spy.install_command() if missing else ""
    return activity_query.HangSearch(limits(options), logs, read_stack=reader, install=install)


def _main_thread_reader(target: cluster_target.ClusterTarget, *, elsewhere: bool) -> activity_query.StackReader:
    """elsewhere: also of pods on other machines, in which a command runs."""

    async def read(client: RemoteClient, job: observed_job.ObservedJob, pod: objects.Pod) -> tuple[str, ...]:
        from traincrew.cli.jobs import stacks  # few jobs hang

        local = stacks.local_node(target)
        if not elsewhere and (local is None or not local.runs(pod)):
            return ()
        return (await stacks.read(client, job, pod, stacks.StacksRequest(), local)).main_thread()

    return read

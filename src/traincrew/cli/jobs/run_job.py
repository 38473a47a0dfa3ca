"""Runs jobs: validates or prints them, starts the cluster if necessary, and hands over to the session."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys

from traincrew import errors
from traincrew.cli import cluster_target
from traincrew.cli.jobs import unmanaged_objects
from traincrew.cli.jobs.run_options import RunOptions
from traincrew.cli.jobs.terminal_output import TerminalOutput
from traincrew.cli.render import serialization
from traincrew.inspection import manifests


async def run(parsed: manifests.ParsedManifests, target_options: cluster_target.TargetOptions, options: RunOptions) -> int:
    """Return the exit code of the command."""
    logging.getLogger("traincrew").addHandler(logging.NullHandler())  # errors of watches are shown as the state of the job
    console = TerminalOutput(sys.stdout.buffer, sys.stderr.buffer)
    for each in (*parsed.warnings, *parsed.errors):
        console.message(each)
    if parsed.errors:
        count = len(parsed.errors)
        raise errors.ManifestError(f"{count} {'error' if count == 1 else 'errors'} in the manifests. Nothing was submitted.")
    if options.dry_run:
        _print(parsed, options.form)
        return 0
    if not target_options.names_other_cluster():
        unmanaged_objects.reject(parsed.objects)
    starts = not target_options.names_other_cluster() and target_options.data_directory.running() is None
    try:
        started = _ensure_cluster(target_options, console)
        # Imported after the cluster has been started: the import takes time, in which the cluster works.
        from traincrew.cli.jobs import run_session

        code = await run_session.run(parsed.objects, target_options, options, console)
    except (KeyboardInterrupt, asyncio.CancelledError):  # the session has handlers of its own
        if not starts:
            raise
        console.message("Interrupted. No job was created. The cluster keeps running. Run `traincrew down` to stop it.")
        return 128 + signal.SIGINT
    if started and not options.detach:
        console.message("The cluster keeps running. Run `traincrew ls` to list its jobs, `traincrew down` to stop it.")
    return code


def _print(parsed: manifests.ParsedManifests, form: str) -> None:
    documents = [each.document for each in parsed.objects]
    if form == "name":
        sys.stdout.write(serialization.names(documents))
    elif form == "json":
        sys.stdout.write(serialization.dump(documents[0] if len(documents) == 1 else serialization.as_list(documents), "json"))
    else:
        sys.stdout.write("---\n".join(serialization.dump(document, "yaml") for document in documents))


def _ensure_cluster(target_options: cluster_target.TargetOptions, console: TerminalOutput) -> bool:
    """Start the cluster on this machine unless the user names another one or it is running. Return whether it was started."""
    directory = target_options.data_directory
    if target_options.names_other_cluster() or directory.running() is not None:
        return False
    from traincrew.cli.local_cluster import background

    started = background.start(directory, ["up", "--data", str(directory.data)])
    for line in background.ready_message(directory, started):
        console.message(line)
    console.message(f"Started the cluster on this machine in {directory.data}.")
    return True

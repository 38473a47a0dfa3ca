"""Submits, stays with the jobs, and cleans up as it was asked to."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from traincrew import errors
from traincrew.cli import target as cli_target
from traincrew.cli.jobs import default_images, deletion, manifests, query, run
from traincrew.cli.jobs.interrupts import Answer, Interrupts
from traincrew.cli.jobs.submit import Made, Submission
from traincrew.cli.render.screen import Screen
from traincrew.client.remote import RemoteClient

if TYPE_CHECKING:
    from traincrew.cli.jobs import informers

CLEAN_UP = 60.0
"""Seconds that pods may take to end after Ctrl-C."""


async def stay(wanted: Sequence[manifests.Wanted], where: cli_target.TargetOptions, options: run.Options, screen: Screen) -> int:
    async with query.connected(where) as (client, target):
        submission = Submission(client, target.namespace, screen.say)
        made = await submission.submit(wanted, replace=options.replace)
        jobs = [each for each in made if each.wanted.job is not None]
        for remark in default_images.remarks((each.wanted for each in jobs), target.local) if target.local is not None else ():
            screen.say(remark)
        if options.detach or not jobs:
            _tell_how_to_go_on(jobs, screen)
            return 0
        return await _stay(client, target, submission, jobs, (options, screen))


async def _stay(
    client: RemoteClient,
    target: cli_target.Target,
    submission: Submission,
    jobs: list[Made],
    manner: tuple[run.Options, Screen],
) -> int:
    # Imported here: the cluster is at work meanwhile.
    from traincrew.cli.jobs import wait

    options, screen = manner
    keys = [_key(each) for each in jobs]
    attendance = wait.Attendance(client, screen, target.local.data / "logs" if target.local is not None else None)
    interrupts = Interrupts()
    with interrupts.caught():
        try:
            code = await attendance.attend(keys, interrupts)
        except BrokenPipeError:
            screen.say("Output closed. The job keeps running.")
            return 0
        except wait.Outcome as outcome:
            if outcome.answer is Answer.DETACH:
                _tell_how_to_go_on(jobs, screen)
                return 0
            await _clean_up(client, submission, screen)
            return run.interrupted(outcome.number)
        if options.remove:
            await _clean_up(client, submission, screen)
    if target.local is not None:
        screen.say("The cluster keeps running. Run `traincrew ls` to list its jobs, `traincrew down` to stop it.")
    return code


def _key(made: Made) -> informers.Key:
    from traincrew.cli.jobs import informers

    assert made.wanted.job is not None
    return informers.Key(made.wanted.job, made.place.namespace or "", made.place.name, made.uid)


async def _clean_up(client: RemoteClient, submission: Submission, screen: Screen) -> None:
    kept = await submission.withdraw()
    gone = [
        deletion.Gone(each.wanted.job, each.place.namespace or "", each.place.name, each.uid)
        for each in submission.made
        if each.wanted.job is not None
    ]
    screen.say(f"Deleting {', '.join(each.reference for each in gone)}.")
    try:
        async with asyncio.timeout(CLEAN_UP):
            for each in gone:
                with contextlib.suppress(errors.TemporaryError):
                    await deletion.until_gone(client, each)
    except TimeoutError:
        screen.say(f"The pods are still terminating after {CLEAN_UP:.0f} s. They are deleted in the background.")
    for held in kept:
        screen.say(f"{held.place} and its data are kept.")


def _tell_how_to_go_on(jobs: Sequence[Made], screen: Screen) -> None:
    for each in jobs:
        screen.say(
            f"{each.place} keeps running. Run `traincrew logs -f {each.place}` to follow it, "
            f"`traincrew delete {each.place}` to delete it."
        )

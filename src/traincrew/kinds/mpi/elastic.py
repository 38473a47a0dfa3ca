"""Horovod Elastic: whose launcher asks for its hosts again and again."""

from __future__ import annotations

import re

from traincrew.model import jobs

_DISCOVERY = re.compile(r"--host-discovery-script|discover_hosts")
FAREWELL = 30.0
"""Seconds: Horovod looks for hosts every second, workers hear of it at their next commit, then a new ring is formed."""

MEETING = {"HOROVOD_GLOO_TIMEOUT_SECONDS": "300"}
"""While a worker joins, the others wait for it; after half a minute, which an import alone may take, all of them would abort."""


def is_elastic(job: jobs.Job) -> bool:
    return "Launcher" in job.roles and _DISCOVERY.search(" ".join(_words(job))) is not None


def _words(job: jobs.Job) -> list[str]:
    containers = job.roles["Launcher"].containers
    return [str(word) for each in containers for word in (*(each.get("command") or []), *(each.get("args") or []))]


def starts_with(job: jobs.Job) -> int:
    """How many workers there must be before an elastic launcher starts its ranks: -np, else --min-np."""
    words = [part for word in _words(job) for part in word.split()]
    for names in (("-np", "--num-proc"), ("--min-np", "--min-num-proc")):
        value = flag(words, names)
        if value is not None:
            return max(-(-value // max(int(job.spec.slots_per_worker or 1), 1)), 1)
    return 1


def flag(words: list[str], names: tuple[str, ...]) -> int | None:
    for index, word in enumerate(words):
        name, _, value = word.partition("=")
        if name in names:
            value = value or (words[index + 1] if index + 1 < len(words) else "")
            if value.isdecimal():
                return int(value)
    return None


def variables(job: jobs.Job) -> dict[str, str]:
    """For the launcher, which hands its environment on to the workers; the flags of horovodrun win over them."""
    return MEETING if is_elastic(job) else {}


def farewell(job: jobs.Job) -> float:
    return FAREWELL if is_elastic(job) else 0.0

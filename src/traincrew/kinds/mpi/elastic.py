"""Horovod Elastic: whose launcher asks for its hosts again and again."""

from __future__ import annotations

import re

from traincrew.model import jobs

_DISCOVERY = re.compile(r"--host-discovery-script|discover_hosts")
FAREWELL = 30.0
"""Seconds: Horovod looks for hosts every second, workers hear of it at their next commit, then a new ring is formed."""


def is_elastic(job: jobs.Job) -> bool:
    if "Launcher" not in job.roles:
        return False
    containers = job.roles["Launcher"].containers
    words = (str(word) for each in containers for word in (*(each.get("command") or []), *(each.get("args") or [])))
    return _DISCOVERY.search(" ".join(words)) is not None


def farewell(job: jobs.Job) -> float:
    return FAREWELL if is_elastic(job) else 0.0

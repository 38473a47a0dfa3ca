"""Whether a running job hangs, from the activity of its replicas.

The result is a sentence for people. It is not a condition of the job, and it disappears when output resumes.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Sequence
from typing import Literal

from traincrew.diagnosis.waiting_calls import JOINS, waiting_call
from traincrew.model.meta import Time

MAX_NAMES = 3
"""Replicas that are named; the others are counted."""
IDLE = 0.02
"""Cores. A process that only waits uses less: threads that poll a socket or a queue."""

State = Literal["Waiting", "Running", "Succeeded", "Failed"]


@dataclasses.dataclass(frozen=True)
class ReplicaActivity:
    """What is known about the activity of one replica. Facts that are not known are None."""

    replica: str
    """Such as `worker-1`."""
    state: State = "Running"
    """Waiting: not all of its containers have started."""
    started: Time | None = None
    """When its main container started."""
    last_output: Time | None = None
    """When it printed its last line. None: it has printed nothing since it started."""
    output_is_known: bool = True
    """False: the time of its last line is not known."""
    cpu: float | None = None
    """Cores in use, over the latest interval that was measured."""
    memory: int | None = None
    """Bytes that its main container uses."""
    memory_limit: int | None = None
    """Bytes that its main container may use. None: any."""
    connections: int | None = None
    """Established TCP connections to other pods."""
    stack: tuple[str, ...] = ()
    """Frames of its main thread, the innermost first: `barrier (torch/distributed/distributed_c10d.py:4150)`."""
    prints: bool = True
    """False: replicas of its role usually print nothing, such as parameter servers and workers of mpirun."""
    computes: bool = True
    """False: replicas of its role usually use no CPU, such as launchers."""


@dataclasses.dataclass(frozen=True)
class HangLimits:
    all_silent: dt.timedelta = dt.timedelta(minutes=5)
    """Time without output from all replicas after which the job is reported."""
    one_differs: dt.timedelta = dt.timedelta(minutes=2)
    """Time without output after which a replica that differs from the others is reported."""


@dataclasses.dataclass(frozen=True)
class Hang:
    message: str
    """A sentence without a full stop: `worker-1 has printed nothing for 4 min and uses no CPU; the others wait in barrier`."""
    replicas: tuple[str, ...]
    """The replicas that differ from the others; all running replicas if none does."""
    since: Time
    """The time of the last output of these replicas."""


def find(activities: Sequence[ReplicaActivity], now: Time, limits: HangLimits = HangLimits()) -> Hang | None:  # noqa: B008 - frozen
    """None: the job makes progress, as far as can be seen, or it waits for replicas that have not started.

    Call it again when `now` or the activities change: it keeps no state.
    """
    running = [each for each in activities if each.state == "Running" and _silent_since(each) is not None]
    if not running or any(each.state == "Waiting" for each in activities):
        return None
    silence = now - max(_since(each) for each in _printing(running))
    if silence >= limits.one_differs and (suspects := _different(running)):
        return _one_differs(suspects, running, now, limits)
    if silence >= (limits.one_differs if _common_call(running) in JOINS else limits.all_silent):
        return _all_silent(running, [each for each in activities if each.state in ("Succeeded", "Failed")], now)
    left_behind = [each for each in running if _left_behind(each, running, now, limits)]
    return _one_differs(left_behind, running, now, limits) if left_behind else None


def may_differ(activities: Sequence[ReplicaActivity], now: Time, limits: HangLimits) -> bool:
    """Whether stacks could show that a replica differs, or that all wait for one that does not exist. With two replicas of which
    one never joins, nothing else shows it: both are idle and have no connection."""
    running = [each for each in activities if each.state == "Running" and _silent_since(each) is not None]
    if not running or any(each.state == "Waiting" for each in activities):
        return False
    return now - max(_since(each) for each in _printing(running)) >= limits.one_differs


def _silent_since(activity: ReplicaActivity) -> Time | None:
    return activity.last_output or activity.started


def _since(activity: ReplicaActivity) -> Time:
    since = _silent_since(activity)
    assert since is not None
    return since


def _printing(running: Sequence[ReplicaActivity]) -> Sequence[ReplicaActivity]:
    return [each for each in running if each.prints] or running


def _idle(activity: ReplicaActivity) -> bool | None:
    return None if activity.cpu is None else activity.cpu < IDLE


def _different(running: Sequence[ReplicaActivity]) -> list[ReplicaActivity]:
    """While nobody prints: the replicas that the others wait for. The most certain evidence comes first."""
    compared = [each for each in running if each.computes]
    outside = [each for each in compared if each.stack and not waiting_call(each.stack)]
    if outside and any(waiting_call(each.stack) for each in compared):
        return outside
    alone = [each for each in compared if each.connections == 0]
    if alone and any(each.connections for each in compared):
        return alone
    idle = [each for each in compared if _idle(each) is True]
    busy = [each for each in compared if _idle(each) is False]
    # Ranks that wait for NCCL use CPU, ranks that wait for Gloo or MPI may use none: the majority waits.
    return (idle if len(idle) <= len(busy) else busy) if idle and busy else []


def _left_behind(activity: ReplicaActivity, running: Sequence[ReplicaActivity], now: Time, limits: HangLimits) -> bool:
    """Whether a replica does nothing while others go on. In many jobs only one rank prints: silence alone proves nothing."""
    if not activity.prints or not activity.computes or now - _since(activity) < limits.one_differs:
        return False
    printing = [each for each in running if each is not activity and each.prints and now - _since(each) < limits.one_differs]
    if activity.cpu is not None:
        return _idle(activity) is True and any(_idle(each) is False for each in printing)
    return activity.last_output is not None and len(printing) >= max(2, len(running) - 1)


def _one_differs(suspects: Sequence[ReplicaActivity], running: Sequence[ReplicaActivity], now: Time, limits: HangLimits) -> Hang:
    names, since = tuple(each.replica for each in suspects), max(map(_since, suspects))
    others = [each for each in running if each.replica not in names]
    facts = [f"{_have(suspects)} printed nothing for {_duration(now - since)}", *_facts(suspects)]
    message = f"{_abbreviate(names)} {_join(facts)}; {_others(others, now, limits)}"
    return Hang(message, names, since)


def _facts(suspects: Sequence[ReplicaActivity]) -> list[str]:
    facts, one = [], len(suspects) == 1
    if all(_idle(each) is True for each in suspects):
        facts.append("uses no CPU" if one else "use no CPU")
    elif all(_idle(each) is False for each in suspects):
        facts.append("uses CPU" if one else "use CPU")
    if all(each.connections == 0 for each in suspects):
        facts.append(f"{_have(suspects)} no connection to the other replicas")
    if one and suspects[0].stack:
        facts.append(f"is in {suspects[0].stack[0]}")
    return facts


def _others(others: Sequence[ReplicaActivity], now: Time, limits: HangLimits) -> str:
    subject, one = ("the others", False) if len(others) > 1 else (others[0].replica, True)
    if any(each.prints and now - _since(each) < limits.one_differs for each in others):
        return f"{subject} {'continues' if one else 'continue'}"
    if call := _common_call(others):
        return f"{subject} {'waits' if one else 'wait'} in {call}"
    if all(waiting_call(each.stack) or _idle(each) is True for each in others):
        return f"{subject} {'waits' if one else 'wait'}"
    if all(_idle(each) is False for each in others):  # they compute, or poll as NCCL does
        return f"{subject} {'uses' if one else 'use'} CPU"
    return f"{subject} {_have(others)} printed nothing either"


def _all_silent(running: Sequence[ReplicaActivity], ended: Sequence[ReplicaActivity], now: Time) -> Hang:
    names, since = tuple(each.replica for each in running), max(map(_since, running))
    one, silence = len(running) == 1, _duration(now - max(map(_since, _printing(running))))
    text = f"{names[0]} has printed nothing for {silence}" if one else f"no replica has printed anything for {silence}"
    idle = [_idle(each) for each in running if each.computes]
    if call := _common_call(running):
        text += f"; {f'{names[0]} waits' if one else 'all wait'} in {call}{f': {JOINS[call]}' if call in JOINS else ''}"
    elif idle and all(each is True for each in idle):
        text += " and uses no CPU" if one else " and none uses CPU"
    elif idle and all(each is False for each in idle):
        text += ", but uses CPU and may be computing" if one else ", but all use CPU and may be computing"
    if ended:
        text += f"; {_abbreviate([each.replica for each in ended])} {_have(ended)} ended"
    return Hang(text, names, since)


def _common_call(activities: Sequence[ReplicaActivity]) -> str:
    """The call in which all of them wait; empty if they wait in different calls, or if that is not known."""
    calls = {waiting_call(each.stack) for each in activities}
    return calls.pop() if len(calls) == 1 else ""


def _have(activities: Sequence[ReplicaActivity]) -> str:
    return "has" if len(activities) == 1 else "have"


def _abbreviate(names: Sequence[str]) -> str:
    rest = len(names) - MAX_NAMES
    return _join(names) if rest <= 0 else f"{', '.join(names[:MAX_NAMES])} and {rest} more"


def _join(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _duration(elapsed: dt.timedelta) -> str:
    minutes = int(elapsed.total_seconds()) // 60
    if minutes < 1:
        return f"{int(elapsed.total_seconds())} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"

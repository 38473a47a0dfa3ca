"""What a kubelet would do next about a pod."""

from __future__ import annotations

import datetime as dt

from traincrew.embedded.node.lifecycle import attempts, starting, status, stopping, telling
from traincrew.embedded.node.lifecycle.agenda import Agenda, Case
from traincrew.embedded.node.lifecycle.facts import Facts
from traincrew.embedded.node.lifecycle.outlook import outlook
from traincrew.embedded.node.lifecycle.steps import Steps
from traincrew.embedded.node.lifecycle.subject import Object, Subject


def next_steps(pod: Object, facts: Facts, now: dt.datetime) -> Steps:
    """The same facts give the same steps: whoever carries one out first notes that it is under way (`changes.begin`).

    pod: as the API holds it, with the status that was last written.
    """
    subject = Subject(pod)
    facts = attempts.truthful(subject, facts)
    case = Case(subject, facts, outlook(subject, facts, now), now)
    agenda = Agenda(now)
    if case.outlook.ending:
        stopping.end_all(case, agenda)
    else:
        starting.live(case, agenda)
    wanted = status.of_pod(case, bool(case.outlook.ending) and stopping.over(case))
    events = telling.justified(case)
    untold = tuple(event for event in events if event.key not in facts.told)
    return Steps(tuple(agenda.steps), wanted, agenda.wake, untold, frozenset(event.key for event in events))

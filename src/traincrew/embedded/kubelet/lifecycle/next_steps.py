"""What a kubelet would do next about a pod."""

from __future__ import annotations

import datetime as dt

from traincrew.embedded.kubelet.lifecycle import attempts, pod_status, start, stop
from traincrew.embedded.kubelet.lifecycle import events as lifecycle_events
from traincrew.embedded.kubelet.lifecycle.agenda import Agenda, Case
from traincrew.embedded.kubelet.lifecycle.facts import Facts
from traincrew.embedded.kubelet.lifecycle.pod import Object, Subject
from traincrew.embedded.kubelet.lifecycle.steps import Steps
from traincrew.embedded.kubelet.lifecycle.termination import outlook


def next_steps(pod: Object, facts: Facts, now: dt.datetime) -> Steps:
    """The same facts give the same steps: whoever carries one out first notes that it is under way (`changes.begin`).

    pod: as the API holds it, with the status that was last written.
    """
    subject = Subject(pod)
    facts = attempts.truthful(subject, facts)
    case = Case(subject, facts, outlook(subject, facts, now), now)
    agenda = Agenda(now)
    if case.outlook.ending:
        stop.end_all(case, agenda)
    else:
        start.live(case, agenda)
    wanted = pod_status.of_pod(case, bool(case.outlook.ending) and stop.over(case))
    events = lifecycle_events.justified(case)
    untold = tuple(event for event in events if event.key not in facts.told)
    return Steps(tuple(agenda.steps), wanted, agenda.wake, untold, frozenset(event.key for event in events))

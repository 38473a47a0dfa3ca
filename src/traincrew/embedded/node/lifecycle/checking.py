"""The probes that are due."""

from __future__ import annotations

from traincrew.embedded.node.lifecycle import attempts, probing
from traincrew.embedded.node.lifecycle.agenda import Agenda, Case
from traincrew.embedded.node.lifecycle.steps import Probe
from traincrew.embedded.node.lifecycle.subject import Part


def probe(case: Case, agenda: Agenda, part: Part, *, quiet: bool = False) -> None:
    """quiet: the container is to end; only its readiness still counts."""
    known = case.of(part)
    if known.last is None or attempts.hook_pending(part, known):
        return
    started = attempts.has_begun(case.subject, part, known)
    for kind, moment in probing.due(part, known, started, quiet).items():
        asked = part.probe(kind) or {}
        timeout = float(probing.setting(asked, "timeoutSeconds"))
        agenda.when(moment, Probe(part.name, known.last.attempt, kind, probing.handler(asked), timeout))

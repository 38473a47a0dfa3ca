"""The probes that are due."""

from __future__ import annotations

from traincrew.embedded.kubelet.lifecycle import attempts, probes
from traincrew.embedded.kubelet.lifecycle.agenda import Agenda, Case
from traincrew.embedded.kubelet.lifecycle.pod import Part
from traincrew.embedded.kubelet.lifecycle.steps import Probe


def probe(case: Case, agenda: Agenda, part: Part, *, quiet: bool = False) -> None:
    """quiet: the container is to end; only its readiness still counts."""
    known = case.of(part)
    if known.last is None or attempts.hook_pending(part, known):
        return
    started = attempts.has_begun(case.subject, part, known)
    for kind, moment in probes.due(part, known, started, quiet).items():
        asked = part.probe(kind) or {}
        timeout = float(probes.setting(asked, "timeoutSeconds"))
        agenda.when(moment, Probe(part.name, known.last.attempt, kind, probes.handler(asked), timeout))

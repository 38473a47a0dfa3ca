"""Our strategies respond as kube-apiserver 1.32 did to the recorded requests.

tests/cluster/test_builtin_agrees.py records the responses, and compares with a live API server.
"""

from __future__ import annotations

import functools
import gzip
import json
import pathlib

import pytest
from tests.embedded.apiserver.registry import object_edits
from tests.embedded.apiserver.registry.comparison import ServerResponse, StrategyCase, differences

RECORDING = pathlib.Path(__file__).with_name("recorded.jsonl.gz")


@functools.cache
def cases() -> dict[str, list[StrategyCase]]:
    by_kind: dict[str, list[StrategyCase]] = {}
    for line in gzip.decompress(RECORDING.read_bytes()).splitlines():
        kind, edit, verb, sent, old, code, body, warnings = json.loads(line)
        by_kind.setdefault(kind, []).append(
            StrategyCase(kind, edit, verb, sent, old, ServerResponse(code, body, tuple(warnings)))
        )
    return by_kind


@pytest.mark.parametrize("kind", object_edits.kinds())
def test_strategies_respond_as_the_recorded_api_server(kind: str) -> None:
    differing = [(case, lines) for case in cases()[kind] if (lines := differences(case))]
    assert not differing, "\n\n".join("\n  ".join([case.title, *lines]) for case, lines in differing)


@pytest.mark.parametrize("kind", object_edits.kinds())
def test_the_recording_has_every_edit(kind: str) -> None:
    for verb in ("create", "update", "status"):
        assert [case.line for case in cases()[kind] if case.verb == verb] == object_edits.edits(kind, verb)


def test_the_recording_has_many_accepted_and_many_rejected_requests() -> None:
    verdicts = [case.real.accepted for recorded in cases().values() for case in recorded]
    assert min(verdicts.count(True), verdicts.count(False)) > len(verdicts) / 4

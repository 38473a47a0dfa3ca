"""What a kube-apiserver 1.32 answered to the requests of the corpus, replayed: our rules give the same answers.

tests/cluster/test_builtin_agrees.py makes the recording, and asks a live API server.
"""

from __future__ import annotations

import functools
import gzip
import json
import pathlib

import pytest
from tests.embedded.apiserver.registry import corpus
from tests.embedded.apiserver.registry.comparison import Case, ServerResponse, differences

RECORDING = pathlib.Path(__file__).with_name("recorded.jsonl.gz")


@functools.cache
def cases() -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    for line in gzip.decompress(RECORDING.read_bytes()).splitlines():
        kind, edit, verb, sent, old, code, body, warnings = json.loads(line)
        found.setdefault(kind, []).append(Case(kind, edit, verb, sent, old, ServerResponse(code, body, tuple(warnings))))
    return found


@pytest.mark.parametrize("kind", corpus.kinds())
def test_strategies_respond_as_the_recorded_api_server(kind: str) -> None:
    wrong = [(case, message) for case in cases()[kind] if (message := differences(case))]
    assert not wrong, "\n\n".join("\n  ".join([case.title, *message]) for case, message in wrong)


@pytest.mark.parametrize("kind", corpus.kinds())
def test_the_recording_has_every_edit(kind: str) -> None:
    for verb in ("create", "update", "status"):
        assert [case.line for case in cases()[kind] if case.verb == verb] == corpus.edits(kind, verb)


def test_the_recording_has_many_accepted_and_many_rejected_requests() -> None:
    verdicts = [case.real.accepted for found in cases().values() for case in found]
    assert min(verdicts.count(True), verdicts.count(False)) > len(verdicts) / 4

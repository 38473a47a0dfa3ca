"""The operator is killed, with SIGKILL, before and after every single call that it makes; another one brings the job to the
same end: nothing lost, nothing doubled.

TRAINCREW_KILL=all does so for every kind. By default the calls of one kind are covered one by one, and of the others each sort
of write once.
"""

from __future__ import annotations

import concurrent.futures
import os

import pytest
from tests.cluster import lifecycle
from tests.cluster.lifecycle import FinalState, KindVersion
from tests.cluster.lifecycle_harness import LifecycleHarness, LifecycleRecording, Target
from tests.cluster.proxy import ProxiedCall

AT_ONCE = 8
COVERED = lifecycle.ALL_KINDS if os.environ.get("TRAINCREW_KILL") == "all" else lifecycle.ALL_KINDS[:1]
SAMPLED = [kind for kind in lifecycle.ALL_KINDS if kind not in COVERED]


@pytest.mark.parametrize("kind", COVERED, ids=str)
def test_nothing_is_lost_or_doubled_whichever_call_is_the_last(
    harness: LifecycleHarness, kind: KindVersion, capsys: pytest.CaptureFixture[str]
) -> None:
    normal, audited = audited_recording(harness, kind)
    targets = [(number_is(call.number), after) for call in normal.calls for after in (False, True)]

    killed = recordings_with_kills(harness, kind, targets, normal.final_state)

    kills = [len({each.killed_at.number for each in group if each.killed_at}) for group in (killed[::2], killed[1::2])]
    with capsys.disabled():
        print(f"\n{kind}: {len(normal.calls)} calls, {audited} in the audit log; killed before {kills[0]}, after {kills[1]}")
    assert len(normal.calls) == audited
    # Another run may need a call or two less: what is written together is a matter of timing.
    assert all(each.killed_at or len(each.calls) < audited for each in killed)
    assert min(kills) >= audited - 4


@pytest.mark.parametrize("kind", SAMPLED, ids=str)
def test_nothing_is_lost_or_doubled_whichever_write_is_the_last(
    harness: LifecycleHarness, kind: KindVersion, capsys: pytest.CaptureFixture[str]
) -> None:
    normal, audited = audited_recording(harness, kind)
    sorts = sorted({(call.verb, call.resource) for call in normal.calls if call.verb not in ("list", "watch")})
    targets = [(sort_is(*sort), after) for sort in sorts for after in (False, True)]

    killed = recordings_with_kills(harness, kind, targets, normal.final_state)

    with capsys.disabled():
        print(f"\n{kind}: {len(normal.calls)} calls, {audited} in the audit log; killed before and after {len(sorts)}")
    assert len(normal.calls) == audited
    assert len(killed) >= len(sorts)
    assert all(each.killed_at for each in killed)


def audited_recording(harness: LifecycleHarness, kind: KindVersion) -> tuple[LifecycleRecording, int]:
    """An undisturbed recording, and the number of its operator's requests in the audit log."""
    before = harness.kube.audit_size()
    normal = harness.record(kind)
    found = [entry for entry in harness.kube.audit(since=before) if normal.tag in entry.get("userAgent", "")]
    return normal, len({entry["auditID"] for entry in found})


def recordings_with_kills(
    harness: LifecycleHarness, kind: KindVersion, targets: list[tuple[Target, bool]], normal: FinalState
) -> list[LifecycleRecording]:
    def one(target: Target, after: bool) -> LifecycleRecording:
        found = harness.record_with_kill(kind, target, after, normal.events)
        lifecycle.assert_same(found.final_state, normal, f"killed {'after' if after else 'before'} {found.killed_at}")
        return found

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        running = [pool.submit(one, *target) for target in targets]
        return [each.result() for each in running]


def number_is(number: int) -> Target:
    return lambda call: call.number == number


def sort_is(verb: str, resource: str) -> Target:
    def chosen(call: ProxiedCall) -> bool:
        return (call.verb, call.resource) == (verb, resource)

    return chosen

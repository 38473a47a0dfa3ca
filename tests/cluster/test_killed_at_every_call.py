"""The operator is killed, with SIGKILL, before and after every single call that it makes; another one brings the job to the
same end: nothing lost, nothing doubled.

TRAINCREW_KILL=all does so for every kind. By default the calls of one kind are covered one by one, and of the others each sort
of write once.
"""

from __future__ import annotations

import concurrent.futures
import os

import pytest
from tests.cluster import lives
from tests.cluster.lives import Kind, Portrait
from tests.cluster.proxy import Call
from tests.cluster.theatre import Performance, Target, Theatre

AT_ONCE = 8
COVERED = lives.EVERY if os.environ.get("TRAINCREW_KILL") == "all" else lives.EVERY[:1]
SAMPLED = [kind for kind in lives.EVERY if kind not in COVERED]


@pytest.mark.parametrize("kind", COVERED, ids=str)
def test_nothing_is_lost_or_doubled_whichever_call_is_the_last(
    house: Theatre, kind: Kind, capsys: pytest.CaptureFixture[str]
) -> None:
    normal, audited = audited_performance(house, kind)
    targets = [(number_is(call.number), after) for call in normal.calls for after in (False, True)]

    killed = killed_performances(house, kind, targets, normal.portrait)

    struck = [len({each.struck.number for each in group if each.struck}) for group in (killed[::2], killed[1::2])]
    with capsys.disabled():
        print(f"\n{kind}: {len(normal.calls)} calls, {audited} in the audit log; killed before {struck[0]}, after {struck[1]}")
    assert len(normal.calls) == audited
    # Another run may need a call or two less: what is written together is a matter of timing.
    assert all(each.struck or len(each.calls) < audited for each in killed)
    assert min(struck) >= audited - 4


@pytest.mark.parametrize("kind", SAMPLED, ids=str)
def test_nothing_is_lost_or_doubled_whichever_write_is_the_last(
    house: Theatre, kind: Kind, capsys: pytest.CaptureFixture[str]
) -> None:
    normal, audited = audited_performance(house, kind)
    sorts = sorted({(call.verb, call.resource) for call in normal.calls if call.verb not in ("list", "watch")})
    targets = [(sort_is(*sort), after) for sort in sorts for after in (False, True)]

    killed = killed_performances(house, kind, targets, normal.portrait)

    with capsys.disabled():
        print(f"\n{kind}: {len(normal.calls)} calls, {audited} in the audit log; killed before and after {len(sorts)}")
    assert len(normal.calls) == audited
    assert all(each.struck for each in killed)


def audited_performance(house: Theatre, kind: Kind) -> tuple[Performance, int]:
    """An undisturbed life, and how many calls of its operator the audit log tells."""
    before = house.kube.audit_size()
    normal = house.perform(kind)
    found = [entry for entry in house.kube.audit(since=before) if normal.tag in entry.get("userAgent", "")]
    return normal, len({entry["auditID"] for entry in found})


def killed_performances(house: Theatre, kind: Kind, targets: list[tuple[Target, bool]], normal: Portrait) -> list[Performance]:
    def one(target: Target, after: bool) -> Performance:
        found = house.perform_with_a_kill(kind, target, after, normal.told)
        lives.assert_same(found.portrait, normal, f"killed {'after' if after else 'before'} {found.struck}")
        return found

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        running = [pool.submit(one, *target) for target in targets]
        return [each.result() for each in running]


def number_is(number: int) -> Target:
    return lambda call: call.number == number


def sort_is(verb: str, resource: str) -> Target:
    def chosen(call: Call) -> bool:
        return (call.verb, call.resource) == (verb, resource)

    return chosen

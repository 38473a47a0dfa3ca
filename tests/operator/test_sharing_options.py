"""The options of `traincrew operator` about elastic jobs become the rules of the decision."""

from __future__ import annotations

import pytest
from tests.sharing.worlds import GPU, NOW, elastic, gpu_node, scene

from traincrew import errors, settings
from traincrew.cli import sharing_options
from traincrew.cli.sharing_options import SharingOptions
from traincrew.operator.sharing_controller import rules
from traincrew.sharing import share
from traincrew.sharing.scene import NOTICE_TAINTS


def parsed(headroom: str = "", taints: str = "") -> settings.Sharing:
    return sharing_options.parse(SharingOptions(headroom, 0.0, 0.1, taints))


def test_headroom_is_an_amount_or_a_part_of_all_nodes() -> None:
    given = parsed(f"{GPU}=2, cpu=500m,memory=5%")
    assert given.headroom == {GPU: 2, "cpu": 500}
    assert given.headroom_parts == {"memory": 0.05}


@pytest.mark.parametrize("text", ["cpu", "cpu=x", "cpu=101%", "cpu=-1", "=2", "cpu=x%"])
def test_a_headroom_that_cannot_be_read_says_what_is_expected(text: str) -> None:
    with pytest.raises(errors.SettingsError, match="expected RESOURCE=QUANTITY or RESOURCE=PERCENT%"):
        parsed(text)


@pytest.mark.parametrize(("headroom", "workers"), [("", 4), (f"{GPU}=1", 3), (f"{GPU}=30%", 2), (f"{GPU}=1%", 3)])
def test_what_is_kept_free_is_not_grown_into(headroom: str, workers: int) -> None:
    chosen = rules(settings.Operator(sharing=parsed(headroom)))
    result = share(scene([gpu_node("a", 4)], [], [elastic("e", ["a"])], rules=chosen), NOW)
    assert len(result.jobs["e"].members) == workers


def test_a_list_of_taints_replaces_the_default() -> None:
    assert rules(settings.Operator(sharing=parsed(taints="a.b/c, d"))).notice_taints == {"a.b/c", "d"}
    assert rules(settings.Operator()).notice_taints == frozenset(NOTICE_TAINTS)
    assert rules(settings.Operator(sharing=parsed())).budget == 0.1

"""The options of `traincrew operator` and `traincrew up` about elastic jobs become the policy of the decision."""

from __future__ import annotations

import click
import click.testing
import pytest
from tests.sharing.snapshots import GPU, NOW, elastic_job, gpu_node, snapshot

from traincrew import errors, settings
from traincrew.cli import sharing_options
from traincrew.cli.sharing_options import SharingOptions
from traincrew.operator.sharing_controller import policy
from traincrew.sharing import allocate
from traincrew.sharing.policy import NOTICE_TAINTS


def parsed(headroom: str = "", taints: str = "") -> settings.Sharing:
    return sharing_options.parse(SharingOptions(headroom, 0.0, 0.1, taints, "manual", "auto", False))


def test_headroom_is_an_amount_or_a_part_of_all_nodes() -> None:
    given = parsed(f"{GPU}=2, cpu=500m,memory=5%")
    assert given.headroom == {GPU: 2, "cpu": 500}
    assert given.headroom_fractions == {"memory": 0.05}


@pytest.mark.parametrize("text", ["cpu", "cpu=x", "cpu=101%", "cpu=-1", "=2", "cpu=x%"])
def test_a_headroom_that_cannot_be_read_says_what_is_expected(text: str) -> None:
    with pytest.raises(errors.SettingsError, match="expected RESOURCE=QUANTITY or RESOURCE=PERCENT%"):
        parsed(text)


@pytest.mark.parametrize(("headroom", "workers"), [("", 4), (f"{GPU}=1", 3), (f"{GPU}=30%", 2), (f"{GPU}=1%", 3)])
def test_what_is_kept_free_is_not_grown_into(headroom: str, workers: int) -> None:
    chosen = policy(settings.Operator(sharing=parsed(headroom)))
    result = allocate(snapshot([gpu_node("a", 4)], [], [elastic_job("e", ["a"])], policy=chosen), NOW)
    assert len(result.jobs["e"].members) == workers


SILENT = {"node.kubernetes.io/unreachable", "node.kubernetes.io/out-of-service"}


def test_a_list_of_taints_replaces_those_of_clouds_and_not_those_of_nodes_that_do_not_respond() -> None:
    assert policy(settings.Operator(sharing=parsed(taints="a.b/c, d"))).notice_taints == {"a.b/c", "d"} | SILENT
    assert policy(settings.Operator()).notice_taints == frozenset(NOTICE_TAINTS) | SILENT
    assert policy(settings.Operator(sharing=parsed())).resize_budget == 0.1


@pytest.mark.parametrize(("arguments", "settle"), [((), 10.0), (("--settle", "0"), 0.0), (("--settle", "2.5"), 2.5)])
def test_capacity_may_be_used_at_once(arguments: tuple[str, ...], settle: float) -> None:
    found: list[SharingOptions] = []

    @click.command()
    @sharing_options.options
    def verb(sharing_options: SharingOptions) -> None:
        found.append(sharing_options)

    result = click.testing.CliRunner().invoke(verb, arguments)
    assert result.exit_code == 0, result.output
    assert policy(settings.Operator(sharing=sharing_options.parse(found[0]))).settle == settle

"""The cluster's network and pods' addresses in it."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traincrew.embedded.kubelet.network import addresses
from traincrew.embedded.kubelet.network.addresses import AddressesExhausted, Subnet, allocate, choose_subnet

SMALL = Subnet.parse("10.1.2.0/28")
PODS = [f"10.1.2.{number}" for number in range(2, 12)]


def _route(cidr: str) -> tuple[int, int]:
    network = ipaddress.ip_network(cidr)
    return int(network.network_address), network.prefixlen


@given(st.integers(0, 2**32 - 1))
def test_addresses_are_read_as_they_are_written(value: int) -> None:
    assert addresses.to_text(value) == str(ipaddress.IPv4Address(value))
    assert addresses.to_int(addresses.to_text(value)) == value


@pytest.mark.parametrize("text", ["", "1.2.3", "1.2.3.4.5", "1.2.3.256", "1.2.3.-4", "::1", "1.2.3.٤", "1.2.3.4 "])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not an IPv4 address"):
        addresses.to_int(text)


@pytest.mark.parametrize("text", ["10.0.0.0", "10.0.0.0/7", "10.0.0.0/29", "10.0.0.0/x", "x/16"])
def test_what_is_no_network_for_pods_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a"):
        Subnet.parse(text)


def test_gateway_and_way_out_have_addresses_that_no_pod_gets() -> None:
    found: list[str] = []
    for _ in PODS:
        found.append(allocate(SMALL, found))
    assert found == PODS
    assert not {SMALL.gateway, SMALL.host_end, SMALL.cluster_end} & set(found)
    with pytest.raises(AddressesExhausted):
        allocate(SMALL, found)


def test_an_address_used_recently_comes_last_and_the_oldest_of_them_first() -> None:
    recent = ["10.1.2.4", "10.1.2.2"]
    assert allocate(SMALL, [], recent) == "10.1.2.3"
    assert allocate(SMALL, [each for each in PODS if each not in recent], recent) == "10.1.2.4"
    assert allocate(SMALL, [each for each in PODS if each != "10.1.2.2"], recent) == "10.1.2.2"


def test_an_address_of_another_network_is_not_given_again() -> None:
    with pytest.raises(AddressesExhausted):
        allocate(SMALL, PODS, ["10.9.9.9", SMALL.gateway])


def test_the_network_wished_for_is_taken_if_the_host_has_no_way_to_it() -> None:
    assert (
        str(choose_subnet("10.244.0.0/16", [_route("0.0.0.0/0"), _route("192.168.0.0/16"), _route("0.0.0.0/1")]))
        == "10.244.0.0/16"
    )


@pytest.mark.parametrize("taken", ["10.244.0.0/16", "10.244.7.0/24", "10.0.0.0/8", "10.244.0.9/32"])
def test_a_network_that_the_host_reaches_is_left_alone(taken: str) -> None:
    found = ipaddress.ip_network(str(choose_subnet("10.244.0.0/16", [_route(taken)])))
    assert not found.overlaps(ipaddress.ip_network(taken))
    assert not found.overlaps(ipaddress.ip_network("10.96.0.0/12"))
    assert found.is_private


@given(st.sets(st.sampled_from([f"10.{number}.0.0/16" for number in range(256)]), max_size=255))
def test_two_clusters_never_have_the_same_network(taken: set[str]) -> None:
    found = str(choose_subnet("10.244.0.0/16", [_route(each) for each in taken]))
    assert found not in taken


def test_link_addresses_follow_from_addresses() -> None:
    assert addresses.mac_address("10.244.0.5") == "0a:58:0a:f4:00:05"

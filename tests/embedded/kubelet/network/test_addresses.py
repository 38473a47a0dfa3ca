"""The subnet of the cluster and the addresses of pods."""

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
def test_addresses_are_parsed_as_they_are_formatted(value: int) -> None:
    assert addresses.to_text(value) == str(ipaddress.IPv4Address(value))
    assert addresses.to_int(addresses.to_text(value)) == value


@pytest.mark.parametrize("text", ["", "1.2.3", "1.2.3.4.5", "1.2.3.256", "1.2.3.-4", "::1", "1.2.3.٤", "1.2.3.4 "])
def test_an_invalid_address_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="not an IPv4 address"):
        addresses.to_int(text)


@pytest.mark.parametrize("text", ["10.0.0.0", "10.0.0.0/7", "10.0.0.0/29", "10.0.0.0/x", "x/16"])
def test_an_invalid_subnet_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="not a"):
        Subnet.parse(text)


def test_the_addresses_of_gateway_and_uplink_are_not_allocated() -> None:
    allocated: list[str] = []
    for _ in PODS:
        allocated.append(allocate(SMALL, allocated))
    assert allocated == PODS
    assert not {SMALL.gateway, SMALL.host_end, SMALL.cluster_end} & set(allocated)
    with pytest.raises(AddressesExhausted):
        allocate(SMALL, allocated)


def test_recently_used_addresses_are_allocated_last_and_the_oldest_of_them_first() -> None:
    recent = ["10.1.2.4", "10.1.2.2"]
    assert allocate(SMALL, [], recent) == "10.1.2.3"
    assert allocate(SMALL, [each for each in PODS if each not in recent], recent) == "10.1.2.4"
    assert allocate(SMALL, [each for each in PODS if each != "10.1.2.2"], recent) == "10.1.2.2"


def test_a_recent_address_of_another_subnet_is_not_allocated() -> None:
    with pytest.raises(AddressesExhausted):
        allocate(SMALL, PODS, ["10.9.9.9", SMALL.gateway])


def test_the_preferred_subnet_is_used_unless_the_host_has_a_route_to_it() -> None:
    assert (
        str(choose_subnet("10.244.0.0/16", [_route("0.0.0.0/0"), _route("192.168.0.0/16"), _route("0.0.0.0/1")]))
        == "10.244.0.0/16"
    )


@pytest.mark.parametrize("taken", ["10.244.0.0/16", "10.244.7.0/24", "10.0.0.0/8", "10.244.0.9/32"])
def test_a_subnet_that_overlaps_a_route_of_the_host_is_not_used(taken: str) -> None:
    subnet = ipaddress.ip_network(str(choose_subnet("10.244.0.0/16", [_route(taken)])))
    assert not subnet.overlaps(ipaddress.ip_network(taken))
    assert not subnet.overlaps(ipaddress.ip_network("10.96.0.0/12"))
    assert subnet.is_private


@given(st.sets(st.sampled_from([f"10.{number}.0.0/16" for number in range(256)]), max_size=255))
def test_two_clusters_never_have_the_same_subnet(taken: set[str]) -> None:
    subnet = str(choose_subnet("10.244.0.0/16", [_route(each) for each in taken]))
    assert subnet not in taken


def test_mac_addresses_are_derived_from_ip_addresses() -> None:
    assert addresses.mac_address("10.244.0.5") == "0a:58:0a:f4:00:05"

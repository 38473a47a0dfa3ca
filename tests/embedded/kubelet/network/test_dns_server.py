"""The DNS server: names resolved by the C library, and single packets."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from typing import Any

import pytest
from tests.embedded.kubelet.network import scenario_runner
from tests.embedded.kubelet.network.network_harness import ROOT, NetworkHarness, Pod

from traincrew.embedded.kubelet.network.dns_zone import Zone, build_zone

LEVEL = pytest.mark.parametrize("level", scenario_runner.LEVELS)
LOOKUP = """
import json, socket, sys
def found(name):
    try:
        return sorted({each[4][0] for each in socket.getaddrinfo(name, None)})
    except socket.gaierror as error:
        return error.errno
def named(address):
    try:
        return socket.gethostbyaddr(address)[0]
    except socket.herror as error:
        return None
print(json.dumps([(named if each[0].isdigit() else found)(each) for each in %r]))
"""
ASK = """
import json, socket, sys
sys.path.insert(0, %r)
from traincrew.embedded.kubelet.network import dns_messages
found = []
for name, kind, way in %r:
    asked = dns_messages.build_query(4711, name, kind)
    if way == "tcp":
        sock = socket.create_connection((%r, 53), 10)
        sock.sendall(len(asked).to_bytes(2, "big") + asked)
        file = sock.makefile("rb")
        data = file.read(int.from_bytes(file.read(2), "big"))
    else:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.settimeout(10)
        sock.sendto(asked, (%r, 53))
        data = sock.recv(65535)
    assert data[:2] == asked[:2]
    answer = dns_messages.parse_response(data)
    found.append([answer.code, answer.truncated, [list(each.data) for each in answer.answers], data[7], data[9]])
print(json.dumps(found))
"""
UPSTREAM = """
import socket, struct, sys, threading
sys.path.insert(0, %r)
from traincrew.embedded.kubelet.network import dns_messages
def answer(asked, limit):
    query = dns_messages.parse_query(asked)
    if query.name == "silent.example":
        return b""
    counts = {"known.example": 1, "large.example": 400}
    if query.kind != dns_messages.A or query.name not in counts:
        code = dns_messages.NOERROR if query.name in counts else dns_messages.NXDOMAIN
        return dns_messages.encode_reply(query, dns_messages.DnsReply(code), limit)
    addresses = [bytes((203, 0, n // 256, n %% 256)) for n in range(counts[query.name])]
    records = [dns_messages.ResourceRecord(query.name, dns_messages.A, 60, address) for address in addresses]
    return dns_messages.encode_reply(query, dns_messages.DnsReply(answers=records, authoritative=False), limit)
plain = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
plain.bind(("127.0.0.53", 53))
server = socket.create_server(("127.0.0.53", 53))
def connections():
    while True:
        peer, _ = server.accept()
        file = peer.makefile("rb")
        said = answer(file.read(int.from_bytes(file.read(2), "big")), 65535)
        peer.sendall(struct.pack("!H", len(said)) + said)
        file.close()
        peer.close()
threading.Thread(target=connections, daemon=True).start()
print("ready", flush=True)
while True:
    asked, peer = plain.recvfrom(65535)
    if said := answer(asked, 512):
        plain.sendto(said, peer)
"""
UNKNOWN = (-2, -5)
"""Error codes of the C library for a name that does not exist or has no address."""


def _zone(**hosts: str) -> Zone:
    """A headless Service `job` in the namespace `team`, and an alias of an external name."""
    meta = {"namespace": "team", "name": "job", "labels": {"kubernetes.io/service-name": "job"}}
    endpoints = [{"addresses": [address], "hostname": name.replace("_", "-")} for name, address in hosts.items()]
    ports = [{"name": "grpc", "port": 2222, "protocol": "TCP"}]
    alias = {"metadata": {"namespace": "team", "name": "away"}, "spec": {"type": "ExternalName", "externalName": "known.example"}}
    services: list[dict[str, Any]] = [{"metadata": meta, "spec": {"clusterIP": "None"}}, alias]
    return build_zone(
        services, [{"metadata": meta, "addressType": "IPv4", "endpoints": endpoints, "ports": ports}], [], "cluster.local"
    )


async def _look_up(pod: Pod, *names: str) -> list[Any]:
    output = await pod.run(LOOKUP % (names,))
    return list(json.loads(output))


async def _query(harness: NetworkHarness, pod: Pod, *questions: tuple[str, int, str]) -> list[Any]:
    gateway = harness.netns.gateway
    output = await pod.run(ASK % (str(ROOT / "src"), questions, gateway, gateway))
    return list(json.loads(output))


async def resolves_names_of_the_cluster(harness: NetworkHarness) -> None:
    pod, address = await harness.pod(5), harness.address(5)
    await harness.netns.publish(_zone(worker_0=address, worker_1=harness.address(6)))
    names = (
        "job",
        "job.team",
        "job.team.svc",
        "JOB.team.svc.Cluster.Local.",
        "worker-0.job",
        "worker-1",
        "nobody.job.team.svc",
        "localhost",
    )
    both = [address, harness.address(6)]
    results = await _look_up(pod, *names, address, harness.address(99))
    assert results[:5] == [both, both, both, both, [address]]
    assert results[5] in UNKNOWN
    assert results[6] in UNKNOWN
    assert "127.0.0.1" in results[7]
    assert results[8:] == ["worker-0.job.team.svc.cluster.local", None]


async def applies_changes_at_once(harness: NetworkHarness) -> None:
    pod = await harness.pod(5)
    for number in range(20):
        await harness.netns.publish(_zone(one=harness.address(100 + number)))
        assert await _look_up(pod, "one.job") == [[harness.address(100 + number)]]
    zones = [_zone(one=harness.address(100 + number)) for number in range(50)]
    await asyncio.gather(*(harness.netns.publish(each) for each in zones))
    assert await _look_up(pod, "one.job") == [[harness.address(149)]]


async def serves_names_without_kubelet_and_after_replacement(harness: NetworkHarness) -> None:
    pod = await harness.pod(5)
    await harness.netns.publish(_zone(one=harness.address(5)))
    await harness.netns.close()
    assert await _look_up(pod, "one.job") == [[harness.address(5)]]
    os.kill(harness.netns.pid, signal.SIGKILL)
    harness.netns = await harness.ensure()
    assert await _look_up(pod, "one.job") == [[harness.address(5)]]


async def truncates_udp_replies(harness: NetworkHarness) -> None:
    pod = await harness.pod(5)
    await harness.netns.publish(_zone(**{f"h{number}": harness.address(number + 5) for number in range(300)}))
    full = "job.team.svc.cluster.local"
    questions = ((full, 1, "udp"), (full, 1, "tcp"), (f"_grpc._tcp.{full}", 33, "tcp"), (full, 28, "udp"))
    plain, whole, ports, other = await _query(harness, pod, *questions)
    nothing, unknown = await _query(harness, pod, ("svc.cluster.local", 1, "udp"), ("x.cluster.local", 1, "udp"))
    assert plain[:2] == [0, True]
    assert 0 < len(plain[2]) < 300
    assert (whole[:2], len(whole[2])) == ([0, False], 300)
    assert ports[0] == 0
    assert [other[0], other[2], other[4]] == [0, [], 1], "NOERROR without records, but with the SOA record"
    assert [nothing[0], nothing[2], nothing[4]] == [0, [], 1]
    assert [unknown[0], unknown[2], unknown[4]] == [3, [], 1]


def _with_upstream() -> None:
    process = subprocess.Popen([sys.executable, "-c", UPSTREAM % str(ROOT / "src")], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"


async def forwards_other_names(harness: NetworkHarness) -> None:
    """The resolver listens on the loopback of the host, which pods cannot reach."""
    pod = await harness.pod(5)
    await harness.netns.publish(_zone(one=harness.address(5)))
    large, whole = await _query(harness, pod, ("large.example", 1, "udp"), ("large.example", 1, "tcp"))
    silent, alias = await _query(harness, pod, ("silent.example", 1, "udp"), ("away.team.svc.cluster.local", 1, "udp"))
    assert large[:2] == [0, True]
    assert (whole[:2], len(whole[2])) == ([0, False], 400)
    assert silent[0] == 2
    assert (alias[0], alias[2][-1]) == (0, [203, 0, 0, 0])
    results = await _look_up(pod, "known.example", "other.example", "away", "one.job")
    assert (results[0], results[2], results[3]) == (["203.0.0.0"], ["203.0.0.0"], [harness.address(5)])
    assert results[1] in UNKNOWN
    many = [("large.example", 1, "tcp")] * 20
    assert {len(each[2]) for each in await _query(harness, pod, *many)} == {400}


forwards_other_names.prepare = _with_upstream  # type: ignore[attr-defined]


SILENT = """
import socket, struct, sys, threading
sys.path.insert(0, %r)
from traincrew.embedded.kubelet.network import dns_messages
query, server = dns_messages.build_query(1, "silent.example", 1), (%r, 53)
def over_tcp():
    while True:
        sock = socket.create_connection(server, 10)
        sock.sendall((struct.pack("!H", len(query)) + query) * 100)
        sock.recv(1)
        sock.close()
for _ in range(10):
    threading.Thread(target=over_tcp, daemon=True).start()
plain = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
print("attacks", flush=True)
while True:
    for _ in range(%d):
        plain.sendto(query, server)
    plain.recv(65535)
"""


async def _attacked(harness: NetworkHarness, packets: int) -> None:
    attacker, other = await harness.pod(5), await harness.pod(6)
    await harness.netns.publish(_zone(one=harness.address(6)))
    process = attacker.start(SILENT % (str(ROOT / "src"), harness.netns.gateway, packets))
    try:
        assert process.stdout is not None
        assert await asyncio.to_thread(process.stdout.readline) == "attacks\n"
        for _ in range(20):
            assert await _look_up(other, "known.example", "one.job") == [["203.0.0.0"], [harness.address(6)]]
        results = await _query(harness, other, *[("known.example", 1, "tcp"), ("known.example", 1, "udp")] * 10)
        assert [each[2] for each in results] == [[[203, 0, 0, 0]]] * 20
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()


async def a_pod_asks_for_names_that_nobody_answers(harness: NetworkHarness) -> None:
    """More queries than may be pending."""
    await _attacked(harness, 300)


async def a_pod_floods_the_server(harness: NetworkHarness) -> None:
    await _attacked(harness, 5000)


a_pod_asks_for_names_that_nobody_answers.prepare = _with_upstream  # type: ignore[attr-defined]
a_pod_floods_the_server.prepare = _with_upstream  # type: ignore[attr-defined]


async def fails_without_upstream(harness: NetworkHarness) -> None:
    pod = await harness.pod(5)
    await harness.netns.publish(_zone(one=harness.address(5)))
    results = await _query(
        harness, pod, *[(f"host{number}.example", 1, "udp") for number in range(10)], ("known.example", 1, "tcp")
    )
    assert {each[0] for each in results} in ({2}, {3}), "SERVFAIL, or NXDOMAIN without an upstream resolver"
    assert await _look_up(pod, "one.job") == [[harness.address(5)]]


FUZZ = """
import random, socket, sys
sys.path.insert(0, %r)
from traincrew.embedded.kubelet.network import dns_messages
chance = random.Random(%d)
plain = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for turn in range(3000):
    name = chance.choice(["job.team.svc.cluster.local", "a.b", "5.0.244.10.in-addr.arpa"])
    data = bytearray(dns_messages.build_query(turn, name, chance.choice([1, 12, 28, 33, 255])))
    for _ in range(chance.randrange(6)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    if chance.random() < 0.3:
        data = data[: chance.randrange(len(data))]
    if chance.random() < 0.1:
        data = chance.randbytes(chance.randrange(600))
    plain.sendto(data, (%r, 53))
for turn in range(50):
    sock = socket.create_connection((%r, 53), 10)
    sock.sendall(chance.randbytes(chance.randrange(1, 400)))
    sock.close()
print("done")
"""


async def survives_random_packets(harness: NetworkHarness) -> None:
    pod, first = await harness.pod(5), harness.netns.pid
    await harness.netns.publish(_zone(one=harness.address(5)))
    gateway, seed = harness.netns.gateway, random.randrange(1 << 30)
    assert await pod.run(FUZZ % (str(ROOT / "src"), seed, gateway, gateway)) == "done", seed
    assert await _look_up(pod, "one.job") == [[harness.address(5)]], seed
    assert harness.netns.pid == first
    assert "Traceback" not in (harness.data / "node/netns.log").read_text(), seed


@LEVEL
def test_the_c_library_resolves_services_hosts_and_addresses(level: str) -> None:
    scenario_runner.run_scenario(resolves_names_of_the_cluster, level)


@LEVEL
def test_a_published_zone_is_served_at_once(level: str) -> None:
    scenario_runner.run_scenario(applies_changes_at_once, level)


@LEVEL
def test_names_are_served_without_a_kubelet_and_by_the_next_netns_daemon(level: str) -> None:
    scenario_runner.run_scenario(serves_names_without_kubelet_and_after_replacement, level)


@LEVEL
def test_large_replies_are_truncated_over_udp_and_complete_over_tcp(level: str) -> None:
    scenario_runner.run_scenario(truncates_udp_replies, level)


@LEVEL
def test_other_names_are_forwarded_to_the_resolver_of_the_host(level: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("requires root, to replace the resolver of the host")
    scenario_runner.run_scenario(forwards_other_names, level, "nameserver 127.0.0.53\\n")


@LEVEL
@pytest.mark.parametrize("attack", [a_pod_asks_for_names_that_nobody_answers, a_pod_floods_the_server])
def test_a_pod_cannot_take_external_names_from_others(level: str, attack: object) -> None:
    if os.geteuid() != 0:
        pytest.skip("requires root, to replace the resolver of the host")
    scenario_runner.run_scenario(attack, level, "nameserver 127.0.0.53\\n")


@LEVEL
@pytest.mark.parametrize("resolvers", ["", "nameserver 203.0.113.53\\n", "nameserver 127.0.0.9\\n"])
def test_a_query_fails_if_no_upstream_resolver_replies(level: str, resolvers: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to take the host's resolvers away")
    scenario_runner.run_scenario(fails_without_upstream, level, resolvers)


@LEVEL
def test_random_packets_do_not_stop_the_dns_server(level: str) -> None:
    scenario_runner.run_scenario(survives_random_packets, level)

"""DNS messages: valid ones are parsed, malformed ones are rejected."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traincrew.embedded.kubelet.network import dns_messages
from traincrew.embedded.kubelet.network.dns_messages import DnsReply, MalformedMessage, ResourceRecord

LABEL = st.from_regex(r"[a-z0-9_]([a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True)
NAME = st.lists(LABEL, min_size=1, max_size=6).map(".".join)


def _header(data: bytes) -> tuple[int, ...]:
    return struct.unpack_from("!6H", data)


@given(NAME, st.integers(0, 65535), st.sampled_from([dns_messages.A, dns_messages.AAAA, dns_messages.SRV, dns_messages.PTR]))
def test_queries_are_parsed_as_they_were_built(name: str, number: int, kind: int) -> None:
    query = dns_messages.parse_query(dns_messages.build_query(number, name, kind))
    assert (query.number, query.name, query.kind, query.klass, query.edns) == (number, name, kind, dns_messages.IN, 1232)


@given(NAME, st.lists(st.binary(min_size=4, max_size=4), max_size=60))
def test_replies_are_parsed_as_they_were_encoded(name: str, values: list[bytes]) -> None:
    query = dns_messages.parse_query(dns_messages.build_query(7, name, dns_messages.A))
    packed = dns_messages.encode_reply(
        query, DnsReply(answers=[ResourceRecord(name, dns_messages.A, 5, value) for value in values]), 65535
    )
    response = dns_messages.parse_response(packed)
    assert [(each.name, each.data) for each in response.answers] == [(name, value) for value in values]
    assert not response.truncated


@given(st.binary(max_size=300))
def test_random_bytes_are_a_malformed_message(data: bytes) -> None:
    for read in (dns_messages.parse_query, dns_messages.parse_response):
        try:
            read(data)
        except MalformedMessage:
            continue
    dns_messages.question_section(data)
    assert len(dns_messages.error_response(data, dns_messages.FORMERR)) in (0, 12)


@given(NAME, st.lists(st.tuples(st.integers(0, 60), st.integers(0, 255)), max_size=8))
def test_a_damaged_query_is_a_malformed_message(name: str, damages: list[tuple[int, int]]) -> None:
    data = bytearray(dns_messages.build_query(1, name, dns_messages.A))
    for position, value in damages:
        data[position % len(data)] = value
    try:
        query = dns_messages.parse_query(bytes(data))
    except MalformedMessage:
        return
    dns_messages.encode_reply(query, DnsReply(dns_messages.NXDOMAIN), query.room)


def test_names_are_lower_case_but_the_question_is_repeated_unchanged() -> None:
    message = dns_messages.build_query(1, "WWW.Example.COM", dns_messages.A)
    query = dns_messages.parse_query(message)
    assert query.name == "www.example.com"
    assert b"\3WWW\7Example\3COM" in dns_messages.encode_reply(query, DnsReply(), 512)


def test_a_dot_within_a_label_is_escaped() -> None:
    message = struct.pack("!6H", 1, 0, 1, 0, 0, 0) + b"\7a.b.c.d\0" + struct.pack("!HH", dns_messages.A, dns_messages.IN)
    assert dns_messages.parse_query(message).name == r"a\.b\.c\.d"


@pytest.mark.parametrize("pointer", [b"\xc0\x0c", b"\xc0\x0e", b"\xc0\xff", b"\x01a\xc0\x0c"])
def test_cyclic_and_invalid_compression_pointers_are_malformed(pointer: bytes) -> None:
    with pytest.raises(MalformedMessage):
        dns_messages.parse_query(
            struct.pack("!6H", 1, 0, 1, 0, 0, 0) + pointer + struct.pack("!HH", dns_messages.A, dns_messages.IN)
        )


def test_a_reply_is_not_accepted_as_a_query() -> None:
    packed = dns_messages.encode_reply(
        dns_messages.parse_query(dns_messages.build_query(1, "a.b", dns_messages.A)), DnsReply(), 512
    )
    with pytest.raises(MalformedMessage):
        dns_messages.parse_query(packed)
    assert dns_messages.error_response(packed, dns_messages.FORMERR) == b""


@pytest.mark.parametrize(("edns", "room"), [(None, 512), (100, 512), (900, 900), (4096, 1232)])
def test_records_that_do_not_fit_are_left_out_and_the_reply_is_marked_as_truncated(edns: int | None, room: int) -> None:
    message = dns_messages.build_query(1, "many.example.com", dns_messages.A, edns or 0)
    query = dns_messages.parse_query(message if edns is not None else message[:10] + b"\0\0" + message[12:-11])
    assert query.room == room
    records = [ResourceRecord("many.example.com", dns_messages.A, 5, bytes(4))] * 100
    packed = dns_messages.encode_reply(query, DnsReply(answers=records), query.room)
    assert room - 16 <= len(packed) <= room
    assert dns_messages.parse_response(packed).truncated
    assert 0 < len(dns_messages.parse_response(packed).answers) < 100


def test_additional_records_are_left_out_without_truncation() -> None:
    query = dns_messages.parse_query(dns_messages.build_query(1, "a.example.com", dns_messages.SRV))
    packed = dns_messages.encode_reply(
        query,
        DnsReply(additional=[ResourceRecord(f"x{n}.example.com", dns_messages.A, 5, bytes(4)) for n in range(200)]),
        query.room,
    )
    assert len(packed) <= 1232
    assert not dns_messages.parse_response(packed).truncated
    assert _header(packed)[5] > 1

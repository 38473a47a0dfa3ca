from __future__ import annotations

import pytest

from traincrew.apimachinery import api_errors
from traincrew.embedded.apiserver.http import origins
from traincrew.embedded.pki import certificates

ALLOWED = origins.allowed_origins(certificates.names("127.0.0.1"), 6443)


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1:6443", "127.0.0.1", "localhost:6443", "LOCALHOST:1", "localhost.:6443", "[::1]:6443", "[::1]",
     "[0:0:0:0:0:0:0:1]:1", "kubernetes.default.svc", "10.96.0.1:443"],
)  # fmt: skip
def test_the_server_is_reached_by_its_names(host: str) -> None:
    origins.check(ALLOWED, host, None)


@pytest.mark.parametrize(
    "host",
    ["evil.example.com", "evil.example.com:6443", "localhost.evil.example.com", "127.0.0.1.nip.io:6443", "192.168.0.1",
     "[::2]:6443", "localhost@evil", "localhost evil", ":6443", "[", "127.0.0.1:6443:1"],
)  # fmt: skip
def test_a_foreign_host_is_rejected(host: str) -> None:
    with pytest.raises(api_errors.StatusError) as error:
        origins.check(ALLOWED, host, None)
    assert (error.value.code, error.value.reason) == (403, "Forbidden")


@pytest.mark.parametrize(
    "origin", ["https://127.0.0.1:6443", "https://localhost:6443", "http://localhost:6443", "https://[::1]:6443"]
)
def test_our_own_pages_are_served(origin: str) -> None:
    origins.check(ALLOWED, "localhost:6443", origin)


@pytest.mark.parametrize(
    "origin",
    ["https://evil.example.com", "null", "", "https://localhost:8080", "https://localhost", "file://", "http://127.0.0.1:8080"],
)
def test_any_other_origin_is_rejected(origin: str) -> None:
    with pytest.raises(api_errors.StatusError) as error:
        origins.check(ALLOWED, "localhost:6443", origin)
    assert error.value.code == 403


def test_the_default_port_may_be_omitted() -> None:
    origins.check(origins.allowed_origins(["localhost"], 443), "localhost", "https://localhost")


def test_untrusted_text_is_escaped_in_errors() -> None:
    with pytest.raises(api_errors.StatusError) as error:
        origins.check(ALLOWED, "evil\r\nInjected: yes" + "x" * 500, None)
    assert "\n" not in error.value.message
    assert len(error.value.message) < 250

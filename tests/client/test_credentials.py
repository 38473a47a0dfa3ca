"""Credentials in use: TLS with real certificates, token rotation and rejected credentials."""

from __future__ import annotations

import asyncio
import asyncio.trsock
import dataclasses
import datetime as dt
import ipaddress
import logging
import os
import pathlib
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from traincrew import errors
from traincrew.client import connection, credentials, kubeconfig
from traincrew.model.resources import PODS

if TYPE_CHECKING:
    from tests.client.conftest import ApiServer, Connect

Write = Callable[..., str]
ESTABLISHED, CLOSE_WAIT = 1, 8
"""States of Linux's TCP."""


@dataclasses.dataclass(frozen=True)
class CertificatePair:
    certificate: bytes
    key: bytes


class Authority:
    """A certificate authority in memory."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "authority")])
        self._certificate = self._signed(self._name, self._key.public_key(), authority=True)
        self.pem = self._certificate.public_bytes(serialization.Encoding.PEM)

    def issue(self, name: str, password: bytes = b"") -> CertificatePair:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        certificate = self._signed(subject, key.public_key())
        encryption = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
        pem = serialization.Encoding.PEM
        return CertificatePair(
            certificate.public_bytes(pem), key.private_bytes(pem, serialization.PrivateFormat.PKCS8, encryption)
        )

    def _signed(self, subject: x509.Name, public: ec.EllipticCurvePublicKey, authority: bool = False) -> x509.Certificate:
        now = dt.datetime.now(dt.UTC)
        names = [x509.DNSName("kube.example"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(hours=1))
            .not_valid_after(now + dt.timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([] if authority else names), critical=False)
            .sign(self._key, hashes.SHA256())
        )


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture
async def server(authority: Authority, tmp_path: pathlib.Path, server: ApiServer) -> AsyncIterator[ApiServer]:
    """The test server with TLS. It requests client certificates, as API servers do."""
    pair = authority.issue("server")
    (tmp_path / "server.pem").write_bytes(pair.certificate + pair.key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=authority.pem.decode())
    context.verify_mode = ssl.CERT_OPTIONAL
    context.load_cert_chain(tmp_path / "server.pem")
    async with type(server)(context).running() as running:
        running.default = whoami
        yield running


async def whoami(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    peer = request.transport.get_extra_info("peercert") or {}
    names = [value for part in peer.get("subject", ()) for key, value in part if key == "commonName"]
    return web.json_response(names)


def material(data: bytes) -> credentials.Material:
    return credentials.Material("a test's", data=data)


def identity(authority: Authority, pair: CertificatePair | None = None) -> credentials.ClientIdentity:
    return credentials.ClientIdentity(
        authority=material(authority.pem),
        certificate=material(pair.certificate) if pair else None,
        key=material(pair.key) if pair else None,
    )


async def test_a_server_of_our_authority_is_trusted(server: ApiServer, connect: Connect, authority: Authority) -> None:
    async with connect(target=connection.ServerConnection(server.url, identity(authority))) as client:
        assert await client.get(PODS, "ns", "p") == b"[]"


@pytest.mark.parametrize("known", [None, Authority()], ids=["the system's authorities", "another authority"])
async def test_a_server_of_another_authority_is_not_trusted(server: ApiServer, connect: Connect, known: Authority | None) -> None:
    user = identity(known) if known else credentials.ClientIdentity()
    async with connect(target=connection.ServerConnection(server.url, user), attempts=1) as client:
        with pytest.raises(errors.Unreachable, match="the certificate is not trusted"):
            await client.get(PODS, "ns", "p")
    assert server.requests == []


async def test_certificate_verification_can_be_disabled(server: ApiServer, connect: Connect) -> None:
    async with connect(target=connection.ServerConnection(server.url, insecure=True)) as client:
        assert await client.get(PODS, "ns", "p") == b"[]"


async def test_the_connection_of_a_watch_that_is_left_does_not_outlive_the_client(
    server: ApiServer, connect: Connect, authority: Authority
) -> None:
    connections: list[asyncio.trsock.TransportSocket] = []

    async def silent(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        connections.append(request.transport.get_extra_info("socket"))
        response = web.StreamResponse()
        await response.prepare(request)
        await asyncio.Event().wait()
        return response

    def state() -> int:
        return connections[0].getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]

    server.respond(silent)
    async with connect(target=connection.ServerConnection(server.url, identity(authority))) as client:
        watch = client.watch(PODS, "ns", resource_version="5")
        await anext(watch)
        assert state() == ESTABLISHED
        await watch.aclose()
    assert state() == CLOSE_WAIT, "the client has not closed the connection"


@pytest.mark.parametrize(("name", "matches"), [("kube.example", True), ("other.example", False)])
async def test_the_certificate_must_contain_the_server_name(
    server: ApiServer, connect: Connect, authority: Authority, name: str, matches: bool
) -> None:
    target = connection.ServerConnection(server.url, identity(authority), tls_server_name=name)
    async with connect(target=target, attempts=1) as client:
        if matches:
            await client.get(PODS, "ns", "p")
        else:
            with pytest.raises(errors.Unreachable, match="not trusted"):
                await client.get(PODS, "ns", "p")


async def test_a_client_certificate_authenticates_the_client(server: ApiServer, connect: Connect, authority: Authority) -> None:
    target = connection.ServerConnection(server.url, identity(authority, authority.issue("jane")))
    async with connect(target=target) as client:
        assert await client.get(PODS, "ns", "p") == b'["jane"]'


async def test_rotated_certificate_files_are_read_again_when_the_old_certificate_is_rejected(
    server: ApiServer, connect: Connect, authority: Authority, write: Write
) -> None:
    def rotate(name: str) -> str:
        pair = authority.issue(name)
        return write("client.pem", pair.certificate + pair.key)

    path = rotate("old")
    both = credentials.Material("a test's", path=path)
    target = connection.ServerConnection(server.url, credentials.ClientIdentity(material(authority.pem), both, both))
    async with connect(target=target) as client:
        assert await client.get(PODS, "ns", "p") == b'["old"]'
        rotate("new")
        server.respond(unauthorized)
        assert await client.get(PODS, "ns", "p") == b'["new"]'


@pytest.mark.parametrize("fault", ["not PEM", "another's key", "encrypted"])
async def test_an_invalid_client_certificate_is_reported_before_the_first_request(
    connect: Connect, authority: Authority, fault: str
) -> None:
    good, other = authority.issue("jane"), authority.issue("jane", password=b"hush")
    bad = {
        "not PEM": CertificatePair(b"hush", b"hush"),
        "another's key": CertificatePair(good.certificate, authority.issue("joe").key),
        "encrypted": CertificatePair(other.certificate, other.key),
    }[fault]
    target = connection.ServerConnection("https://kube", identity(authority, bad), where="context 'c' of F")
    with pytest.raises(errors.KubeconfigError, match="context 'c' of F: the client certificate and key cannot"):
        async with connect(target=target):
            pass


async def test_an_invalid_authority_is_reported_before_the_first_request(connect: Connect) -> None:
    user = credentials.ClientIdentity(authority=material(b"nonsense"))
    with pytest.raises(errors.KubeconfigError, match="the certificate authority is not a PEM certificate"):
        async with connect(target=connection.ServerConnection("https://kube", user)):
            pass


async def unauthorized(request: web.Request) -> web.StreamResponse:
    return web.json_response({}, status=401)


def accept_only(token: str) -> Callable[[web.Request], Any]:
    """Accepts only requests with this bearer token."""

    async def check(request: web.Request) -> web.StreamResponse:
        accepted = request.headers.get("Authorization") == f"Bearer {token}"
        return web.json_response({"kind": "Status"}, status=200 if accepted else 401)

    return check


async def test_a_rotated_token_is_read_again_when_the_old_token_is_rejected(
    server: ApiServer, connect: Connect, authority: Authority, write: Write, tmp_path: pathlib.Path
) -> None:
    write("account/token", "first")
    write("account/ca.crt", authority.pem)
    env = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(server.port)}
    server.default = accept_only("first")
    async with connect(target=kubeconfig.in_cluster(str(tmp_path / "account"), env)) as client:
        await client.get(PODS, "ns", "p")
        write("account/token", "second")
        server.default = accept_only("second")
        await client.get(PODS, "ns", "p")
        async for change in client.watch(PODS, None, resource_version="1"):
            assert change.type == "BOOKMARK"
    assert len(server.requests) == 4


async def test_a_rotated_token_is_read_again_before_it_is_rejected(
    server: ApiServer, connect: Connect, authority: Authority, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credentials, "FILE_LIFE", 0.0)
    token = credentials.Material("a test's", path=write("token", "first"))
    user = credentials.ClientIdentity(authority=material(authority.pem), token=token)
    async with connect(target=connection.ServerConnection(server.url, user)) as client:
        await client.get(PODS, "ns", "p")
        write("token", "second")
        await client.get(PODS, "ns", "p")
    assert [each.headers["Authorization"] for each in server.requests] == ["Bearer first", "Bearer second"]


async def test_a_rejected_token_that_does_not_change_is_unauthorized(
    server: ApiServer, connect: Connect, authority: Authority
) -> None:
    server.default = unauthorized
    user = credentials.ClientIdentity(authority=material(authority.pem), token=material(b"stale"))
    async with connect(target=connection.ServerConnection(server.url, user)) as client:
        with pytest.raises(errors.Unauthorized):
            await client.get(PODS, "ns", "p")
    assert len(server.requests) == 1


class CountingCredentials:
    """Credentials that change each time they are read."""

    def __init__(self, authority: bytes) -> None:
        self.reads = 0
        self._authority = authority

    async def read(self) -> credentials.Access:
        self.reads += 1
        await asyncio.sleep(0)
        return credentials.Access(f"Bearer {self.reads}", self._authority)


async def test_concurrent_rejections_read_the_credentials_once(server: ApiServer, connect: Connect, authority: Authority) -> None:
    user = CountingCredentials(authority.pem)
    server.default = accept_only("2")
    async with connect(target=connection.ServerConnection(server.url, user)) as client, asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(client.get(PODS, "ns", f"p-{number}"))
    assert user.reads == 2


async def test_a_missing_token_file_is_logged_and_the_old_token_is_used(
    server: ApiServer,
    connect: Connect,
    write: Write,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(credentials, "FILE_LIFE", 0.0)
    path = write("token", "hush")
    user = credentials.ClientIdentity(token=credentials.Material("a test's", path=path))
    server.default = accept_only("hush")
    async with connect(target=connection.ServerConnection(server.url, user, insecure=True)) as client:
        os.unlink(path)
        with caplog.at_level(logging.WARNING):
            await client.get(PODS, "ns", "p")
            await client.get(PODS, "ns", "p")
    assert [record.message for record in caplog.records] == ["failed to read the credentials again"]
    assert "hush" not in caplog.text

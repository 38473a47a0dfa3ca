from __future__ import annotations

import pathlib
import socket
import ssl
import subprocess
import sys
import time

import pytest
from tests.embedded.apiserver.auth.tls_handshake import complete_handshake
from tools.kube import issued_certificates

from traincrew.embedded.apiserver.authn import authentication
from traincrew.embedded.pki import certificates
from traincrew.embedded.pki.certificates import Pki

DAY = 24 * 3600.0


@pytest.fixture
def pki(tmp_path: pathlib.Path) -> Pki:
    return certificates.ensure(tmp_path / "pki", certificates.names("127.0.0.1"))


def client(pki: Pki, own: bytes | None = None, where: pathlib.Path | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=pki.authority.decode())
    context.verify_flags |= ssl.VERIFY_X509_STRICT  # the default from Python 3.13 on
    if own:
        assert where
        where.write_bytes(own)
        context.load_cert_chain(where)
    return context


@pytest.mark.parametrize("name", [*certificates.NAMES, socket.gethostname().lower()])
def test_the_server_is_verified_by_each_of_its_names(pki: Pki, name: str) -> None:
    complete_handshake(pki.server_context(), client(pki), name)


def test_the_server_certificate_is_valid_for_its_own_names_only(pki: Pki) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        complete_handshake(pki.server_context(), client(pki), "example.com")


def test_a_second_start_changes_nothing(pki: Pki) -> None:
    before = {file.name: file.read_bytes() for file in pki.directory.iterdir()}
    again = certificates.ensure(pki.directory, pki.names)
    assert not again.renewed
    assert {file.name: file.read_bytes() for file in pki.directory.iterdir()} == before


def test_a_second_start_does_not_import_the_cryptography_library(pki: Pki) -> None:
    program = (
        "import pathlib, sys\n"
        "from traincrew.embedded.apiserver.authn import authentication, service_account_tokens\n"
        "from traincrew.embedded.pki import certificates\n"
        "found = certificates.ensure(pathlib.Path(sys.argv[1]), certificates.names('127.0.0.1'))\n"
        "found.server_context(), found.kubelet_context()\n"
        "assert not found.renewed\n"
        "assert not [name for name in sys.modules if name.startswith('cryptography')]\n"
    )
    subprocess.run([sys.executable, "-c", program, str(pki.directory)], check=True)


def test_the_keys_are_private(pki: Pki) -> None:
    assert pki.directory.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in pki.directory.iterdir()} == {0o600}


def test_a_new_address_gets_a_new_certificate_of_the_same_authority(pki: Pki) -> None:
    moved = certificates.ensure(pki.directory, certificates.names("192.0.2.7"))
    assert moved.renewed
    assert moved.authority == pki.authority
    complete_handshake(moved.server_context(), client(pki), "192.0.2.7")


def test_a_wildcard_address_is_not_a_host_name() -> None:
    assert certificates.names("0.0.0.0") == certificates.names("::") == certificates.names()  # noqa: S104
    assert "2001:db8::1" in certificates.names("[2001:db8::1]")


def test_certificates_are_renewed_before_they_expire(pki: Pki) -> None:
    now = time.time()
    assert not certificates.ensure(pki.directory, pki.names, lambda: now + 330 * DAY).renewed
    renewed = certificates.ensure(pki.directory, pki.names, lambda: now + 340 * DAY)
    assert renewed.renewed
    assert renewed.authority == pki.authority


def test_client_certificates_stay_valid_when_the_authority_is_renewed(tmp_path: pathlib.Path) -> None:
    old = certificates.ensure(tmp_path, certificates.names(), lambda: time.time() - 3640 * DAY)
    kept = client(old)
    new = certificates.ensure(tmp_path, certificates.names())
    assert new.renewed
    complete_handshake(new.server_context(), kept, "localhost")
    complete_handshake(new.server_context(), client(new), "localhost")


@pytest.mark.parametrize("name", ["server.pem", "kubelet-client.pem", "ca.pem", "made.json", "ca.crt"])
@pytest.mark.parametrize("damage", [None, b"", b"nonsense"])
def test_lost_or_damaged_files_are_created_again(pki: Pki, name: str, damage: bytes | None) -> None:
    file = pki.directory / name
    if damage is None:
        file.unlink()
    else:
        file.write_bytes(damage)
    repaired = certificates.ensure(pki.directory, pki.names)
    complete_handshake(repaired.server_context(), client(repaired), "localhost")
    assert not certificates.ensure(pki.directory, pki.names).renewed


def test_a_running_server_uses_renewed_certificates(pki: Pki) -> None:
    context = pki.server_context()
    _, before = complete_handshake(context, client(pki), "localhost")
    certificates.ensure(pki.directory, certificates.names("192.0.2.7")).refresh(context)
    _, after = complete_handshake(context, client(pki), "192.0.2.7")
    assert before.getpeercert(True) != after.getpeercert(True)


def test_a_client_certificate_names_its_user(pki: Pki, tmp_path: pathlib.Path) -> None:
    own = issued_certificates.for_client(pki, "ann", ("red", "blue"))
    end, _ = complete_handshake(pki.server_context(), client(pki, own, tmp_path / "ann.pem"), "localhost")
    peer = authentication.client_certificate_peer(end)
    assert peer
    assert (peer.user.name, peer.user.groups) == ("ann", ("red", "blue", "system:authenticated"))
    (credential,) = peer.user.extra["authentication.kubernetes.io/credential-id"]
    assert credential.startswith("X509SHA256=")


def test_a_connection_without_client_certificate_has_no_peer(pki: Pki) -> None:
    end, _ = complete_handshake(pki.server_context(), client(pki), "localhost")
    assert authentication.client_certificate_peer(end) is None
    assert authentication.client_certificate_peer(None) is None


def test_a_certificate_of_another_authority_is_rejected(pki: Pki, tmp_path: pathlib.Path) -> None:
    stranger = certificates.ensure(tmp_path / "elsewhere", pki.names)
    own = issued_certificates.for_client(stranger, "kubernetes-admin", ("system:masters",))
    with pytest.raises(ssl.SSLError):
        complete_handshake(pki.server_context(), client(pki, own, tmp_path / "own.pem"), "localhost")


def test_the_serving_certificate_of_a_node_does_not_authenticate(pki: Pki, tmp_path: pathlib.Path) -> None:
    own = issued_certificates.for_node(pki, "machine", ["127.0.0.1"])
    with pytest.raises(ssl.SSLError):
        complete_handshake(pki.server_context(), client(pki, own, tmp_path / "node.pem"), "localhost")


def test_the_server_authenticates_to_nodes_with_its_certificate(pki: Pki, tmp_path: pathlib.Path) -> None:
    served = tmp_path / "node.pem"
    served.write_bytes(issued_certificates.for_node(pki, "machine", ["192.0.2.9"]))
    node = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    node.verify_mode = ssl.CERT_REQUIRED
    node.load_verify_locations(cadata=pki.authority.decode())
    node.load_cert_chain(served)
    end, _ = complete_handshake(node, pki.kubelet_context(), "192.0.2.9")
    peer = authentication.client_certificate_peer(end)
    assert peer
    assert peer.user.name == certificates.KUBELET_CLIENT
    assert peer.user.groups == ("system:authenticated",)


def test_the_server_trusts_the_authority_that_a_node_names_for_this_node_alone(pki: Pki, tmp_path: pathlib.Path) -> None:
    node = certificates.ensure(tmp_path / "node", certificates.names("192.0.2.9"))
    served = node.server_context()
    served.load_verify_locations(cadata=pki.authority.decode())  # --client-ca-file
    end, _ = complete_handshake(served, pki.kubelet_context(node.authority.decode()), "192.0.2.9")
    peer = authentication.client_certificate_peer(end)
    assert peer
    assert peer.user.name == certificates.KUBELET_CLIENT
    with pytest.raises(ssl.SSLError):
        complete_handshake(served, pki.kubelet_context(), "192.0.2.9")

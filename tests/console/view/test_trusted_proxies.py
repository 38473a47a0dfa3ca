"""Headers of an authenticating proxy: from whom they count, and whom they may name."""

from __future__ import annotations

import ipaddress

import pytest
from multidict import CIMultiDict

from traincrew import errors
from traincrew.console import trusted_proxies
from traincrew.console.trusted_proxies import ProxyUser, TrustedProxy, Untrusted

SECRET = "correct horse battery"  # noqa: S105 - of this test
LISTED = TrustedProxy("X-User", "X-Groups", frozenset({"ml", "ops"}), (ipaddress.ip_network("10.0.3.0/24"),))
WITH_SECRET = TrustedProxy("X-User", secret=SECRET)


def identify(proxy: TrustedProxy, peer: str, *headers: tuple[str, str]) -> ProxyUser | Untrusted:
    return trusted_proxies.identify(proxy, CIMultiDict(headers), peer)


@pytest.mark.parametrize("peer", ["10.0.3.7", "::ffff:10.0.3.7"])
def test_the_proxy_names_the_user_and_groups_that_are_allowed(peer: str) -> None:
    found = identify(LISTED, peer, ("x-user", " ana "), ("X-Groups", "ml, system:masters"), ("X-Groups", "other"))
    assert found == ProxyUser("ana", ("ml",))
    assert found.impersonation == (("Impersonate-User", "ana"), ("Impersonate-Group", "ml"))


@pytest.mark.parametrize("peer", ["10.0.4.1", "127.0.0.1", "", "not an address", "::1", "10.0.3.7.example"])
def test_from_any_other_address_the_header_does_not_count(peer: str) -> None:
    forged = (("X-User", "ana"), ("X-Forwarded-For", "10.0.3.7"), ("X-Real-IP", "10.0.3.7"))
    assert "is not the proxy of this console" in str(identify(LISTED, peer, *forged))


@pytest.mark.parametrize("sent", [[], ["wrong"], [""], [SECRET, SECRET], ["\udce9"]])
def test_without_the_secret_the_header_does_not_count(sent: list[str]) -> None:
    headers = [(trusted_proxies.SECRET_HEADER, each) for each in sent]
    assert "it lacks the secret" in str(identify(WITH_SECRET, "10.9.9.9", ("X-User", "ana"), *headers))
    assert identify(WITH_SECRET, "10.9.9.9", ("X-User", "ana"), (trusted_proxies.SECRET_HEADER, SECRET)) == ProxyUser("ana")


@pytest.mark.parametrize(
    ("users", "reason"),
    [
        ([], "it has sent none"),
        (["ana", "root"], "it has sent 2"),
        ([""], "does not have the name of a user"),
        (["a\x00b"], "does not have the name of a user"),
        (["x" * 300], "does not have the name of a user"),
        (["system:admin"], "is one of Kubernetes itself"),
        (["system:serviceaccount:kube-system:root"], "is one of Kubernetes itself"),
    ],
)
def test_one_user_must_be_named_who_is_not_one_of_kubernetes(users: list[str], reason: str) -> None:
    assert reason in str(identify(LISTED, "10.0.3.7", *(("X-User", each) for each in users)))


@pytest.mark.parametrize(
    ("proxy", "reason"),
    [
        (TrustedProxy("X-User"), "would let everybody be anybody"),
        (TrustedProxy("X-User", secret=SECRET[:5]), "at least 16 characters"),
        (TrustedProxy("X-User", "X-Groups", secret=SECRET), "needs --proxy-group"),
        (TrustedProxy("X-User", "X-Groups", frozenset({"system:masters"}), secret=SECRET), "are not impersonated"),
    ],
)
def test_settings_that_would_trust_everybody_are_refused(proxy: TrustedProxy, reason: str) -> None:
    with pytest.raises(errors.SettingsError, match=reason):
        proxy.check()
    assert SECRET not in repr(proxy)


def test_an_address_of_a_proxy_may_have_no_mask() -> None:
    assert str(trusted_proxies.network("10.0.3.7")) == "10.0.3.7/32"
    with pytest.raises(errors.SettingsError, match="is no address"):
        trusted_proxies.network("proxy.example")

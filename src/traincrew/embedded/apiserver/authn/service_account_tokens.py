"""Service account tokens: signed, optionally bound to an object, expiring, and invalid once their account is deleted."""

from __future__ import annotations

import base64
import hmac
import time
import uuid
from collections.abc import Callable, Sequence

from traincrew.apimachinery import go_format, times
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.authn import jwt, token_claims
from traincrew.embedded.apiserver.authn.token_claims import AUDIENCES, Bound, Validity, Verified
from traincrew.embedded.apiserver.authn.users import User

LEEWAY = 60.0
"""Seconds of clock skew, and how long a token outlives the deletion of the object that it is bound to."""
MAX_CACHED_TOKENS = 10_000

Lookup = Callable[[str, str, str], Object | None]
"""From plural, namespace (empty if cluster-scoped) and name to the current object."""

_WORDS = {"pods": "pod", "secrets": "secret", "nodes": "node"}


class InvalidToken(Exception):
    """The token is invalid or expired. The message is that of Kubernetes; it is empty for tokens of another issuer."""


class Tokens:
    def __init__(self, key: bytes, lookup: Lookup, clock: Callable[[], float] = time.time) -> None:
        self.lookup, self._signer, self._clock = lookup, jwt.Signer(key), clock
        self._known: dict[str, Verified] = {}

    def issue(
        self, account: Object, seconds: int, *, warns: int = 0, audiences: Sequence[str] = AUDIENCES, bound: Bound | None = None
    ) -> str:
        """A token for a service account. `warns`: seconds after which its use is reported as stale."""
        life = Validity(int(self._clock()), seconds, warns)
        return self._signer.sign(token_claims.build(account, life, audiences, bound or Bound(), str(uuid.uuid4())))

    def issue_legacy(self, account: Object, secret: Object) -> str:
        """A token that does not expire, valid as long as the Secret holds it."""
        return self._signer.sign(token_claims.legacy(account, secret))

    def user(self, token: str) -> User | None:
        """The user of a token; None for tokens of another issuer or another audience."""
        try:
            return self.verified(token, AUDIENCES)[0]
        except InvalidToken:
            return None

    def verified(self, token: str, audiences: Sequence[str]) -> tuple[User, tuple[str, ...]]:
        """The user of a token and the matching audiences."""
        known = self._known.get(token)
        if known is None:
            known = self._verify_signature(token)
        common = tuple(each for each in known.audiences if each in audiences)
        if not common:
            ours, requested = go_format.quote_list(known.audiences), go_format.quote_list(audiences)
            raise InvalidToken(f"token audiences {ours} is invalid for the target audiences {requested}")
        self._check_time(known)
        if known.secret:
            self._check_secret(token, *known.secret)
        for each in known.bound_objects:
            self._check_bound_object(*each)
        return known.user, common

    def _verify_signature(self, token: str) -> Verified:
        if jwt.issuer(token) not in (token_claims.ISSUER, token_claims.LEGACY_ISSUER):
            raise InvalidToken("")
        try:
            verified = token_claims.read(self._signer.claims(token))
        except jwt.BadToken as error:
            raise InvalidToken(str(error)) from None
        if len(self._known) >= MAX_CACHED_TOKENS:
            self._known.clear()
        self._known[token] = verified
        return verified

    def _check_time(self, known: Verified) -> None:
        now = self._clock()
        if now > known.ends + LEEWAY:
            raise InvalidToken("service account token has expired")
        if now + LEEWAY < known.begins:
            raise InvalidToken("service account token is not valid yet")

    def _check_bound_object(self, plural: str, namespace: str, name: str, uid: str) -> None:
        obj = self.lookup(plural, namespace, name)
        account = plural == "serviceaccounts"
        if obj is None:
            raise InvalidToken(f'serviceaccounts "{name}" not found' if account else "service account token has been invalidated")
        metadata = obj["metadata"]
        if metadata["uid"] != uid:
            described = "service account" if account else _WORDS[plural]
            claimed = "claim" if account else f"service account {described} ref claim"
            raise InvalidToken(f"{described} UID ({metadata['uid']}) does not match {claimed} ({uid})")
        deleted = metadata.get("deletionTimestamp")
        if deleted and _seconds(deleted) < self._clock() - LEEWAY:
            message = f"service account {namespace}/{name} has been deleted"
            raise InvalidToken(message if account else "service account token has been invalidated")

    def _check_secret(self, token: str, namespace: str, name: str) -> None:
        secret = self.lookup("secrets", namespace, name)
        if secret is None or secret["metadata"].get("deletionTimestamp"):
            raise InvalidToken("Token has been invalidated")
        copy = (secret.get("data") or {}).get("token", "").encode()
        if not hmac.compare_digest(copy, base64.b64encode(token.encode())):
            raise InvalidToken("Token does not match server's copy")


def _seconds(timestamp: str) -> float:
    return times.parse(timestamp).timestamp()

"""Secrets of the type kubernetes.io/service-account-token: tokens that never expire."""

from __future__ import annotations

import base64

from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.authn.service_account_tokens import Lookup, Tokens

TYPE = "kubernetes.io/service-account-token"
ACCOUNT_NAME = "kubernetes.io/service-account.name"
ACCOUNT_UID = "kubernetes.io/service-account.uid"


def populated(secret: Object, tokens: Tokens, authority: bytes) -> Object | None:
    """The secret with token, ca.crt, namespace and the account's uid; None if nothing has to be done.

    That is so for other types of secrets, for a missing account (or one with another uid), and for a complete secret.
    """
    account = account_of(secret, tokens.lookup)
    if account is None:
        return None
    namespace = secret["metadata"]["namespace"]
    data = dict(secret.get("data") or {})
    data["ca.crt"], data["namespace"] = _encoded(authority), _encoded(namespace.encode())
    if not data.get("token"):
        data["token"] = _encoded(tokens.issue_legacy(account, secret).encode())
    annotations = secret["metadata"]["annotations"] | {ACCOUNT_UID: account["metadata"]["uid"]}
    if data == secret.get("data") and annotations == secret["metadata"]["annotations"]:
        return None
    return secret | {"data": data, "metadata": secret["metadata"] | {"annotations": annotations}}


def account_of(secret: Object, lookup: Lookup) -> Object | None:
    annotations = secret["metadata"].get("annotations") or {}
    name, uid = annotations.get(ACCOUNT_NAME), annotations.get(ACCOUNT_UID)
    if secret.get("type") != TYPE or not name:
        return None
    account = lookup("serviceaccounts", secret["metadata"]["namespace"], name)
    return account if account and uid in (None, "", account["metadata"]["uid"]) else None


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()

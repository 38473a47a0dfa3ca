from __future__ import annotations

import pytest

from traincrew.embedded.apiserver.audit import audit_log
from traincrew.embedded.apiserver.authn.jwt import Signer

JWT = Signer(b"k" * 32).sign({"sub": "x"})


@pytest.mark.parametrize(
    "text",
    [f"Authorization: Bearer {JWT}", f"token is {JWT}.", "/api?token=hush&x=1", "/api?a=1&access_token=hush", "bearer hush",
     "Basic hush", "base64url.bearer.authorization.k8s.io.hush"],
)  # fmt: skip
def test_credentials_are_removed_from_text(text: str) -> None:
    shown = audit_log.redacted(text)
    assert JWT not in shown
    assert "hush" not in shown
    assert audit_log.REDACTED in shown


def test_ordinary_text_is_unchanged() -> None:
    text = "/api/v1/namespaces/ns/pods?labelSelector=a%3Db&limit=500 eyJ is not a token"
    assert audit_log.redacted(text) == text

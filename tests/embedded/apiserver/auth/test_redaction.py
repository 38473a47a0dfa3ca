from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from traincrew.embedded.apiserver.audit import redaction
from traincrew.embedded.apiserver.authn.jwt import Signer

JWT = Signer(b"k" * 32).sign({"sub": "x"})
SECRET: dict[str, Any] = {
    "kind": "Secret",
    "metadata": {
        "name": "s",
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": '{"data":{"k":"hush"}}', "other": "kept"},
    },
    "data": {"k": "hush"},
    "stringData": {"k": "hush"},
}


@pytest.mark.parametrize(
    "said",
    [f"Authorization: Bearer {JWT}", f"token is {JWT}.", "/api?token=hush&x=1", "/api?a=1&access_token=hush", "bearer hush",
     "Basic hush", "base64url.bearer.authorization.k8s.io.hush"],
)  # fmt: skip
def test_no_credential_stays_in_a_text(said: str) -> None:
    shown = redaction.text(said)
    assert JWT not in shown
    assert "hush" not in shown
    assert redaction.REDACTED in shown


def test_ordinary_text_stays_as_it_is() -> None:
    said = "/api/v1/namespaces/ns/pods?labelSelector=a%3Db&limit=500 eyJ is not a token"
    assert redaction.text(said) == said


def test_headers_that_carry_credentials_are_blanked() -> None:
    shown = redaction.headers({"Authorization": "Bearer hush", "Cookie": "hush", "Accept": "*/*", "X-Note": f"see {JWT}"})
    assert shown == {"Authorization": "***", "Cookie": "***", "Accept": "*/*", "X-Note": "see ***"}


def test_a_secrets_values_are_blanked_and_its_keys_kept() -> None:
    before = copy.deepcopy(SECRET)
    shown = redaction.body(SECRET)
    assert "hush" not in json.dumps(shown)
    assert shown["data"] == {"k": "***"}
    assert shown["metadata"]["annotations"]["other"] == "kept"
    assert before == SECRET


def test_lists_and_tokens_are_blanked_too() -> None:
    items = [{key: value for key, value in SECRET.items() if key != "kind"}, {"data": None}]
    assert "hush" not in json.dumps(redaction.body({"kind": "SecretList", "items": items}))
    assert "hush" not in json.dumps(redaction.body({"kind": "TokenRequest", "status": {"token": "hush"}}))
    assert "hush" not in json.dumps(redaction.body({"kind": "TokenReview", "spec": {"token": "hush"}, "status": {}}))


def test_a_config_map_is_no_secret() -> None:
    document = {"kind": "ConfigMap", "data": {"k": "v"}}
    assert redaction.body(document) == document


def test_a_request_line_cannot_be_forged() -> None:
    line = redaction.request_line("GET", "/api?x=\n2026 ERROR\x1b[31m&token=hush", "ann\nroot", 200, 0.0123)
    assert "\n" not in line
    assert "\x1b" not in line
    assert "hush" not in line
    assert line.startswith("GET /api?x=%0A")
    assert "200 12.3 ms" in line

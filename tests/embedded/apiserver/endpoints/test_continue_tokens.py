from __future__ import annotations

import base64

import pytest

from traincrew.apimachinery.api_errors import StatusError
from traincrew.embedded.apiserver.endpoints import continue_tokens


def encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def test_a_continue_token_names_the_start_of_the_next_page() -> None:
    token = continue_tokens.decode(continue_tokens.encode(7, "x/a\0"))
    assert (token.rv, token.start) == (7, "x/a\0")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("%%%", "illegal base64 data at input byte 0"),
        (encoded("{}"), "server does not recognize this encoded version "),
        (encoded('{"v":"meta.k8s.io/v1"}'), "incorrect encoded start resourceVersion (version meta.k8s.io/v1)"),
        (encoded('{"v":"meta.k8s.io/v1","rv":1}'), "encoded start key empty (version meta.k8s.io/v1)"),
        (encoded('{"v":"meta.k8s.io/v1","rv":1,"start":"../a"}'), "../a"),
        (encoded('{"v'), "unexpected end of JSON input"),
    ],
)
def test_a_malformed_continue_token_is_rejected_with_kubernetes_message(text: str, message: str) -> None:
    with pytest.raises(StatusError) as error:
        continue_tokens.decode(text)
    assert error.value.message == f"invalid continue token: continue key is not valid: {message}"

"""What is sent to a server in a pod, and what of its response reaches a frame of the page."""

from __future__ import annotations

import pytest

from traincrew.console.view import forwarded_http


def test_no_cookie_and_no_credential_is_sent() -> None:
    headers = {
        "Cookie": "secret",
        "Authorization": "Bearer x",
        "X-CSRF-Token": "y",
        "Origin": "null",
        "Accept": "*/*",
        "Range": "bytes=0-",
    }
    sent = forwarded_http.request_head("GET", "/data?a=1", headers, 0).decode()
    assert sent.startswith("GET /data?a=1 HTTP/1.0\r\nHost: localhost\r\n")
    assert "Accept: */*\r\n" in sent
    assert sent.endswith("\r\n\r\n")
    for hidden in ("secret", "Bearer", "X-CSRF", "Origin", "Accept-Encoding"):
        assert hidden not in sent


def test_of_a_response_only_harmless_headers_are_kept() -> None:
    raw = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nSet-Cookie: a=b\r\nContent-Security-Policy: none\r\n"
        b"Access-Control-Allow-Credentials: true\r\nService-Worker-Allowed: /\r\nClear-Site-Data: *\r\nContent-Length: 5\r\n"
        b"Location: https://example.com/\r\nRefresh: 0"
    )
    found = forwarded_http.response_head(raw)
    assert (found.status, found.is_html) == (200, True)
    assert found.headers == {"content-type": "text/html; charset=utf-8", "content-length": "5"}


@pytest.mark.parametrize("location", ["//example.com", "/api/v1/jobs", "javascript:alert(1)", "HTTP://x"])
def test_a_redirect_out_of_the_view_is_dropped(location: str) -> None:
    assert forwarded_http.response_head(f"HTTP/1.0 302 Found\r\nLocation: {location}".encode()).headers == {}
    inside = forwarded_http.response_head(b"HTTP/1.0 302 Found\r\nLocation: data/x")
    assert inside.headers == {"location": "data/x"}


@pytest.mark.parametrize("raw", [b"", b"SSH-2.0-x", b"HTTP/1.1 abc", b"HTTP/1.1 101 Switching Protocols", b"HTTP/1.1 999 x"])
def test_what_is_no_http_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match="does not answer with HTTP"):
        forwarded_http.response_head(raw)


def test_the_document_gets_storage_of_its_own_at_its_beginning() -> None:
    for start in (b"<!DOCTYPE html><html><head lang=x><title>a", b"<!doctype html><p>", b"text"):
        changed = forwarded_http.with_prelude(start)
        assert changed.replace(forwarded_http._PRELUDE, b"") == start
    assert forwarded_http.with_prelude(b"<!doctype html>x").startswith(b"<!doctype html><script>")
    assert forwarded_http.longer({"content-length": "5"}, 7) == {"content-length": "12"}
    assert forwarded_http.longer({}, 7) == {}


def test_a_sandboxed_document_has_no_origin_of_the_console() -> None:
    assert forwarded_http.HEADERS["Content-Security-Policy"].startswith("sandbox allow-scripts;")
    assert "allow-same-origin" not in forwarded_http.HEADERS["Content-Security-Policy"]

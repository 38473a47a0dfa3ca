"""Who may use the console: sign-in, origin of requests, headers of the page."""

from __future__ import annotations

import asyncio
import io

import aiohttp
import pytest
import yarl
from tests.console.console_fixture import Browser

API = ("capabilities", "jobs", "jobs/default/jaxjob/x", "jobs/default/jaxjob/x/logs", "nodes", "session")


@pytest.mark.parametrize("path", API)
async def test_nothing_is_read_without_a_session(visitor: Browser, path: str) -> None:
    status, error = await visitor.call("GET", path)
    assert (status, error["reason"]) == (401, "SignInRequired")
    assert "traincrew console" in error["nextStep"]


async def test_a_token_is_valid_once(visitor: Browser) -> None:
    await visitor.sign_in()
    status, error = await visitor.call("POST", "session", {"token": visitor.token})
    assert (status, error["reason"]) == (401, "SignInRequired")
    assert "used already" in error["message"]


async def test_a_wrong_token_does_not_spend_the_right_one(visitor: Browser) -> None:
    for token in ("", "wrong", "\N{SNOWMAN}", "x" * 10_000):
        assert (await visitor.call("POST", "session", {"token": token}))[0] == 401
    await visitor.sign_in()
    assert "csrfToken" in await visitor.get("session")


async def test_the_cookie_is_for_this_page_alone(visitor: Browser) -> None:
    async with visitor.http.post(f"{visitor.origin}/api/v1/session", json={"token": visitor.token}) as response:
        cookie = response.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "Path=/" in cookie


async def test_the_cookie_alone_is_not_enough(browser: Browser) -> None:
    """Other servers of this machine get the cookie, too: browsers do not separate ports."""
    for token in ("", "wrong"):
        assert (await browser.call("GET", "jobs", X_CSRF_Token=token))[1]["reason"] == "SignInRequired"
    browser.http.cookie_jar.clear()
    assert (await browser.call("GET", "jobs"))[1]["reason"] == "SignInRequired"


async def test_a_session_ends_with_the_sign_out(browser: Browser) -> None:
    assert (await browser.call("DELETE", "session"))[0] == 204
    assert (await browser.call("GET", "jobs"))[0] == 401


@pytest.mark.parametrize(
    ("header", "value"),
    [
        pytest.param("Host", "attacker.example:8470", id="DNS rebinding"),
        pytest.param("Host", "", id="no host"),
        pytest.param("Origin", "http://attacker.example", id="another site"),
        pytest.param("Origin", "http://127.0.0.1:1", id="another port of this machine"),
        pytest.param("Origin", "null", id="a sandboxed frame"),
        pytest.param("Sec-Fetch-Site", "same-site", id="another port, without Origin"),
        pytest.param("Sec-Fetch-Site", "cross-site", id="another site, without Origin"),
    ],
)
async def test_requests_of_other_pages_are_refused(browser: Browser, header: str, value: str) -> None:
    for method, path in (("GET", "jobs"), ("DELETE", "jobs/default/jaxjob/x"), ("POST", "jobs"), ("POST", "session")):
        status, error = await browser.call(method, path, **{header.replace("-", "_"): value})
        assert (status, error["reason"]) == (403, "ForeignOrigin")


@pytest.mark.parametrize("header", ["Host", "Origin", "Sec-Fetch-Site", "Content-Type"])
@pytest.mark.parametrize("order", [1, -1])
async def test_a_header_that_counts_once_is_not_accepted_twice(browser: Browser, header: str, order: int) -> None:
    """Of two, something on the way may obey the one that the console does not check."""
    host = browser.origin.removeprefix("http://")
    valid = {"Host": host, "Origin": browser.origin, "Sec-Fetch-Site": "same-origin", "Content-Type": "application/json"}
    others = [f"Host: {host}"] if header != "Host" else []
    lines = [*others, *[f"{header}: {valid[header]}", f"{header}: other"][::order], "Connection: close", "", ""]
    reader, writer = await asyncio.open_connection(*host.split(":"))
    writer.write("\r\n".join(["GET /api/v1/jobs HTTP/1.1", *lines]).encode())
    async with asyncio.timeout(30):
        response = await reader.read()
    writer.close()
    assert response.split()[1] in (b"400", b"403"), response
    assert header.encode() in response


@pytest.mark.parametrize(
    ("origin", "protocols", "status"),
    [
        pytest.param(None, (), 401, id="no CSRF token"),
        pytest.param(None, ("traincrew.v1", "csrf.wrong"), 401, id="a wrong CSRF token"),
        pytest.param("http://127.0.0.1:1", None, 403, id="another page"),
    ],
)
async def test_a_stream_needs_the_session_and_our_page(
    browser: Browser, origin: str | None, protocols: tuple[str, ...] | None, status: int
) -> None:
    offered = ("traincrew.v1", f"csrf.{browser.csrf}") if protocols is None else protocols
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await browser.http.ws_connect(f"{browser.origin}/api/v1/stream", protocols=offered, origin=origin)
    assert refused.value.status == status


async def test_a_stream_of_our_page_is_accepted_and_begins_with_the_state_of_the_cluster(browser: Browser) -> None:
    protocols = ("traincrew.v1", f"csrf.{browser.csrf}")
    async with browser.http.ws_connect(f"{browser.origin}/api/v1/stream", protocols=protocols, origin=browser.origin) as socket:
        assert socket.protocol == "traincrew.v1"
        async with asyncio.timeout(30):
            message = await socket.receive_json()
    assert (message["type"], message["state"]) == ("cluster", "connected")


async def test_every_address_of_the_page_has_a_strict_policy_and_a_new_nonce(visitor: Browser) -> None:
    nonces = set()
    for path in ("", "jobs", "jobs/default/jaxjob/x/logs?rank=0"):
        async with visitor.http.get(f"{visitor.origin}/{path}") as response:
            text, headers = await response.text(), response.headers
        policy = dict(part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";"))
        assert policy["script-src"] == "'self'"
        assert policy["default-src"] == "'none'"
        assert policy["frame-ancestors"] == "'none'"
        nonce = policy["style-src"].split("'nonce-")[1].rstrip("'")
        assert f'nonce="{nonce}"' in text
        nonces.add(nonce)
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Cache-Control"] == "no-store"
        assert response.content_type == "text/html"
    assert len(nonces) == 3


async def test_assets_are_cached_for_ever_and_sent_compressed_if_the_browser_accepts_it(visitor: Browser) -> None:
    url = f"{visitor.origin}/assets/main-abcdefgh.js"
    async with visitor.http.get(url, headers={"Accept-Encoding": "identity"}) as response:
        assert await response.text() == "export {}"
        assert "immutable" in response.headers["Cache-Control"]
        assert response.content_type == "text/javascript"
    encodings = {"Accept-Encoding": "gzip, br"}
    async with aiohttp.ClientSession(auto_decompress=False) as raw, raw.get(url, headers=encodings) as response:
        assert response.headers["Content-Encoding"] == "gzip"
        assert await response.read() == b"compressed"
    async with visitor.http.get(f"{visitor.origin}/icon.svg") as response:
        assert "immutable" not in response.headers["Cache-Control"]


@pytest.mark.parametrize("path", ["assets/none.js", "assets/../../server.py", "%2e%2e/server.py", "..%2f..%2fsettings.py"])
async def test_files_outside_of_the_page_are_not_served(visitor: Browser, path: str) -> None:
    async with visitor.http.get(yarl.URL(f"{visitor.origin}/{path}", encoded=True)) as response:
        text = await response.text()
    assert "import" not in text
    assert response.status == 404 or response.content_type == "text/html"


async def test_a_body_that_is_too_large_is_refused(browser: Browser) -> None:
    status, error = await browser.call("POST", "jobs", io.BytesIO(b"#" * (3 * 1024 * 1024 + 1)))
    assert (status, error["reason"]) == (413, "TooLarge")

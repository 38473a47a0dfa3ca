"""A console for several users: each signs in, and has their own rights alone."""

from __future__ import annotations

import asyncio
import base64
import gc
import json
import pathlib
from collections.abc import AsyncIterator

import aiohttp
import pytest
import yaml
from tests.cluster.api import Api
from tests.console import users
from tests.console.console_fixture import Machine, job
from tests.console.users import Visitor

from traincrew.client.remote import RemoteClient
from traincrew.console.sessions import SessionLimits
from traincrew.console.settings import ServerSettings


@pytest.fixture
async def origin(machine: Machine, tmp_path: pathlib.Path) -> AsyncIterator[str]:
    async with users.console(machine.kubeconfig, tmp_path / "page") as (found, _):
        yield found


@pytest.fixture
async def visitor(origin: str) -> AsyncIterator[Visitor]:
    """Somebody who has not signed in."""
    async with users.visitor(origin) as found:
        yield found


@pytest.fixture
async def another(origin: str) -> AsyncIterator[Visitor]:
    async with users.visitor(origin) as found:
        yield found


def token(machine: Machine, request: pytest.FixtureRequest, role: str = "") -> str:
    name = f"{role or 'nobody'}-{abs(hash(request.node.name)) % 10**8}"
    return users.token_of(machine.kubeconfig, name, role)


@pytest.mark.parametrize("path", ["capabilities", "jobs", "jobs/default/jaxjob/x/logs", "nodes", "queues", "session"])
async def test_nothing_is_read_without_a_sign_in(visitor: Visitor, path: str) -> None:
    status, error = await visitor.call("GET", path)
    assert (status, error["reason"], error["nextStep"]) == (401, "SignInRequired", "Sign in again.")


async def test_the_page_and_how_to_sign_in_are_all_that_a_visitor_gets(visitor: Visitor) -> None:
    assert await visitor.get("sign-in") == {"methods": ["token", "kubeconfig"]}
    async with visitor.http.get(f"{visitor.origin}/jobs") as response:
        assert "script-src 'self'" in response.headers["Content-Security-Policy"]
    assert (await visitor.call("POST", "link"))[0] == 404, "there are no links"


async def test_a_token_signs_in_the_user_whom_the_api_server_names(
    visitor: Visitor, machine: Machine, request: pytest.FixtureRequest
) -> None:
    found = await visitor.enter(token=f"  {token(machine, request, 'view')}\n")
    assert found["method"] == "token"
    assert found["user"].startswith("system:serviceaccount:default:view-")
    assert "system:authenticated" in found["groups"]
    capabilities = await visitor.get("capabilities")
    assert (capabilities["user"], capabilities["namespace"], capabilities["mode"]) == (found["user"], "default", "cluster")
    assert await visitor.get("session") == found


async def test_a_viewer_reads_jobs_and_an_editor_changes_them_and_nobody_reads_none(
    visitor: Visitor, another: Visitor, origin: str, machine: Machine, request: pytest.FixtureRequest
) -> None:
    await visitor.enter(token=token(machine, request, "edit"))
    await another.enter(token=token(machine, request, "view"))
    await visitor.create(job("shared", "sleep 1000"))
    try:
        found = await another.until("jobs?q=shared", lambda found: found["total"] == 1)
        assert found["jobs"][0]["name"] == "shared"
        status, error = await another.call("DELETE", "jobs/default/jaxjob/shared")
        assert (status, error["reason"], error["missingRight"]["verb"]) == (403, "Forbidden", "delete")
        assert error["nextStep"] == "Ask an administrator for the right to delete jaxjobs.kubeflow.org in namespace default."
        async with users.visitor(origin) as nobody:
            await nobody.enter(token=token(machine, request))
            listed = await nobody.get("jobs")
            assert listed["total"] == 0
            assert 'cannot list resource "jaxjobs"' in {each["kind"]: each["message"] for each in listed["unreadable"]}["jaxjob"]
            status, error = await nobody.call("GET", "jobs/default/jaxjob/shared")
            assert (status, error["missingRight"]["verb"], error["missingRight"]["resource"]) == (403, "get", "jaxjobs")
    finally:
        assert (await visitor.call("DELETE", "jobs/default/jaxjob/shared"))[0] == 200


async def test_the_kubeconfig_of_the_administrator_signs_in_with_its_current_context(visitor: Visitor, machine: Machine) -> None:
    config = yaml.safe_load(machine.kubeconfig.read_text())
    config["contexts"][0]["context"]["namespace"] = "team-a"
    found = await visitor.enter(kubeconfig=yaml.safe_dump(config))
    assert (found["method"], bool(found["user"])) == ("kubeconfig", True)
    assert (await visitor.get("capabilities"))["namespace"] == "team-a"
    found = await visitor.enter(kubeconfig=json.dumps(config), namespace="team-b")
    assert (await visitor.get("capabilities"))["namespace"] == "team-b"


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param("sesame", id="no token of the cluster"),
        pytest.param("eyJhbGciOiJSUzI1NiJ9.e30.AAAA", id="a token with another signature"),
    ],
)
async def test_a_wrong_token_is_refused_by_the_api_server(visitor: Visitor, wrong: str) -> None:
    status, error = await visitor.post_session(token=wrong)
    assert (status, error["reason"]) == (401, "Unauthorized")
    assert "does not accept this token" in error["message"]
    assert wrong not in json.dumps(error)
    assert (await visitor.call("GET", "jobs"))[0] == 401


@pytest.mark.parametrize("wrong", ["", "two words", "\N{SNOWMAN}", "x" * 40_000, "a\nb"])
async def test_what_cannot_be_a_token_is_not_sent_to_the_api_server(visitor: Visitor, wrong: str) -> None:
    status, error = await visitor.post_session(token=wrong)
    assert (status, error["reason"]) == (422, "Invalid")


async def test_a_certificate_of_another_authority_is_refused(visitor: Visitor, machine: Machine) -> None:
    certificate, key = _certificate()
    data = {"client-certificate-data": certificate, "client-key-data": key}
    status, error = await visitor.post_session(kubeconfig=yaml.safe_dump(users.kubeconfig_with(machine.kubeconfig, **data)))
    assert (status, error["reason"]) in ((401, "Unauthorized"), (503, "Unreachable")), error


def _certificate() -> tuple[str, str]:
    """Of nobody, signed by itself."""
    import datetime

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:masters")])
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + datetime.timedelta(days=1))
    written = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    pem = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    return base64.b64encode(pem).decode(), base64.b64encode(written).decode()


async def test_a_large_request_of_a_visitor_is_not_read(visitor: Visitor) -> None:
    status, error = await visitor.post_session(kubeconfig="x" * 600_000)
    assert (status, error["reason"]) == (413, "TooLarge")


async def test_the_cookie_is_new_with_every_sign_in_and_the_earlier_session_ends(
    visitor: Visitor, machine: Machine, request: pytest.FixtureRequest
) -> None:
    """A cookie that somebody has planted before (fixation) is not the one of the session."""
    secret = token(machine, request)
    name = f"traincrew-console-{visitor.origin.rpartition(':')[2]}"
    cookies = {name: "planted"}
    async with visitor.http.post(f"{visitor.origin}/api/v1/session", json={"token": secret}, cookies=cookies) as response:
        header = response.headers["Set-Cookie"]
        csrf = (await response.json())["csrfToken"]
    assert "planted" not in header
    assert all(part in header for part in ("HttpOnly", "SameSite=Strict", "Path=/"))
    assert "Secure" not in header, "this is HTTP on this machine"
    first = header.partition(";")[0].partition("=")[2]
    visitor.csrf = csrf
    await visitor.get("jobs")
    async with visitor.http.post(
        f"{visitor.origin}/api/v1/session", json={"token": secret}, headers={"X-CSRF-Token": csrf}
    ) as response:
        assert first not in response.headers["Set-Cookie"]
    sent = {"Cookie": f"{name}={first}", "X-CSRF-Token": csrf}
    async with aiohttp.ClientSession() as thief, thief.get(f"{visitor.origin}/api/v1/jobs", headers=sent) as response:
        assert response.status == 401


async def test_a_stolen_cookie_is_worth_nothing_after_the_sign_out_and_streams_end_with_it(
    visitor: Visitor, machine: Machine, request: pytest.FixtureRequest
) -> None:
    await visitor.enter(token=token(machine, request, "view"))
    stolen = {each.key: each.value for each in visitor.http.cookie_jar}
    csrf = visitor.csrf
    async with aiohttp.ClientSession(cookies=stolen, cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
        thief = Visitor(http, f"{visitor.origin}/#token=")
        thief.csrf = csrf
        assert (await thief.call("GET", "jobs", Cookie="; ".join(f"{k}={v}" for k, v in stolen.items())))[0] == 200
        async with visitor.stream() as stream:
            await stream.subscribe("jobs")
            await stream.next("jobs.snapshot")
            assert (await visitor.call("DELETE", "session"))[0] == 204
            async with asyncio.timeout(30):
                while (message := await stream.socket.receive()).type not in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED):
                    pass
            assert message.data == aiohttp.WSCloseCode.POLICY_VIOLATION
        assert (await thief.call("GET", "jobs", Cookie="; ".join(f"{k}={v}" for k, v in stolen.items())))[0] == 401


def clients() -> int:
    return sum(isinstance(each, RemoteClient) for each in gc.get_objects())


async def test_every_session_has_a_client_of_its_own_which_is_closed_with_it(
    visitor: Visitor, another: Visitor, machine: Machine, request: pytest.FixtureRequest
) -> None:
    gc.collect()
    before, tasks = clients(), len(asyncio.all_tasks())
    secret = token(machine, request, "view")
    await visitor.enter(token=secret)
    await another.enter(token=secret)
    await another.get("jobs")
    assert clients() == before + 2
    for each in (visitor, another):
        assert (await each.call("DELETE", "session"))[0] == 204
    gc.collect()
    assert clients() == before
    assert len(asyncio.all_tasks()) <= tasks + 4, "the informers have ended; each browser has a connection"


async def test_a_session_that_ends_while_it_connects_does_not_hang(
    visitor: Visitor, machine: Machine, request: pytest.FixtureRequest
) -> None:
    secret = token(machine, request, "view")
    for number in range(30):
        await visitor.enter(token=secret)
        await asyncio.sleep(number * 0.005)  # another moment of the first lists
        async with asyncio.timeout(60):
            assert (await visitor.call("DELETE", "session"))[0] == 204


async def test_a_session_of_a_deleted_user_ends_and_says_so(
    visitor: Visitor, machine: Machine, request: pytest.FixtureRequest
) -> None:
    secret = token(machine, request, "view")
    name = (await visitor.enter(token=secret))["user"].rpartition(":")[2]
    Api(machine.kubeconfig).call("DELETE", f"{users.ACCOUNTS}/{name}")

    async with asyncio.timeout(60):
        while True:
            status, error = await visitor.call("GET", "nodes")
            if error.get("reason") == "SignInRequired":
                break
            await asyncio.sleep(0.1)
    assert (status, "rejects the credentials of the session" in error["message"]) == (401, True)
    status, again = await visitor.call("GET", "session")
    assert (status, again["reason"]) == (401, "SignInRequired")
    assert (await visitor.post_session(token=secret))[0] == 401


async def test_the_open_tab_of_a_deleted_user_is_disconnected(
    visitor: Visitor, machine: Machine, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("traincrew.console.user_consoles.REVIEW_SECONDS", 0.1)
    name = (await visitor.enter(token=token(machine, request, "view")))["user"].rpartition(":")[2]
    async with visitor.stream() as stream:
        await stream.next("cluster")
        Api(machine.kubeconfig).call("DELETE", f"{users.ACCOUNTS}/{name}")
        async with asyncio.timeout(60):
            while (await stream.socket.receive()).type not in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED):
                pass
        assert stream.socket.close_code == aiohttp.WSCloseCode.POLICY_VIOLATION


async def test_one_session_more_than_the_limit_is_refused(
    machine: Machine, tmp_path: pathlib.Path, request: pytest.FixtureRequest
) -> None:
    viewer, nobody = token(machine, request, "view"), token(machine, request)
    limits = SessionLimits(sessions=2, per_user=2)
    async with (
        users.console(machine.kubeconfig, tmp_path / "page", limits=limits) as (origin, _),
        users.visitor(origin) as first,
        users.visitor(origin) as second,
        users.visitor(origin) as third,
    ):
        await first.enter(token=viewer)
        await second.enter(token=viewer)
        status, error = await third.post_session(token=nobody)
        assert (status, error["reason"]) == (503, "TooManySessions")
        await third.enter(token=viewer)
        assert (await first.call("GET", "session"))[0] == 401, "the oldest session of the same user has ended"
        assert (await second.call("GET", "session"))[0] == 200


async def test_failed_sign_ins_are_limited(visitor: Visitor, machine: Machine, request: pytest.FixtureRequest) -> None:
    for number in range(20):
        assert (await visitor.post_session(token=f"guess-{number}"))[0] == 401
    status, error = await visitor.post_session(token=token(machine, request))
    assert (status, error["reason"]) == (429, "TooManyRequests")
    assert error["nextStep"].startswith("Try again in ")


@pytest.mark.parametrize(
    ("header", "value"),
    [
        pytest.param("Host", "attacker.example", id="DNS rebinding"),
        pytest.param("Host", "console.example.com.attacker.example", id="a longer name"),
        pytest.param("Host", "console.example.com:8443", id="another port of the host"),
        pytest.param("Origin", "https://attacker.example", id="another site"),
        pytest.param("Origin", "http://console.example.com", id="the same host without encryption"),
        pytest.param("Origin", "https://sub.console.example.com", id="another host of the domain"),
        pytest.param("Origin", "null", id="a sandboxed frame"),
        pytest.param("Sec-Fetch-Site", "same-site", id="another host of the domain, without Origin"),
    ],
)
async def test_requests_of_other_pages_are_refused_at_the_public_address(
    machine: Machine, tmp_path: pathlib.Path, request: pytest.FixtureRequest, header: str, value: str
) -> None:
    settings = ServerSettings("https://console.example.com", "Open the console at https://console.example.com.")
    own = {"Host": "console.example.com", "Origin": "https://console.example.com"}
    async with (
        users.console(machine.kubeconfig, tmp_path / "page", settings=settings) as (origin, _),
        users.visitor(origin) as visitor,
    ):
        for method, path in (("GET", "jobs"), ("POST", "session"), ("DELETE", "jobs/default/jaxjob/x")):
            headers = {name.replace("-", "_"): each for name, each in {**own, header: value}.items()}
            status, error = await visitor.call(method, path, **headers)
            assert (status, error["reason"]) == (403, "ForeignOrigin")
            assert error["nextStep"] == "Open the console at https://console.example.com."
        secret = token(machine, request)
        async with visitor.http.post(f"{origin}/api/v1/session", json={"token": secret}, headers=own) as response:
            assert response.status == 200
            cookie = response.headers["Set-Cookie"]
            csrf = (await response.json())["csrfToken"]
        sent = {**own, "Cookie": cookie.partition(";")[0], "X-CSRF-Token": csrf}
        async with visitor.http.get(f"{origin}/api/v1/jobs", headers=sent) as response:
            assert response.status == 200
        assert cookie.startswith("__Host-traincrew-console=")
        assert "Secure" in cookie


async def test_probes_need_no_host_and_say_when_the_console_stops(machine: Machine, tmp_path: pathlib.Path) -> None:
    async with users.console(machine.kubeconfig, tmp_path / "page") as (origin, state), aiohttp.ClientSession() as http:
        pod = {"Host": "10.1.2.3:8470"}
        for path, stopping, status in (
            ("healthz", False, 200),
            ("readyz", False, 200),
            ("readyz", True, 503),
            ("healthz", True, 200),
        ):
            state.stopping = stopping
            async with http.get(f"{origin}/{path}", headers=pod) as response:
                assert response.status == status

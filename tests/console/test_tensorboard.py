"""TensorBoard of a job through the console: started, shown without the session, stopped."""

from __future__ import annotations

import pathlib

import pytest
from tests.cluster.api import Api
from tests.console import tensorboard_stand_in, users
from tests.console.console_fixture import Browser, Machine

PATH = "jobs/default/jaxjob/{}/tensorboard"
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
def work(tmp_path: pathlib.Path) -> pathlib.Path:
    """A directory that pods can read."""
    tmp_path.chmod(0o755)
    found = tmp_path / "work"
    found.mkdir()
    return found


async def serving(browser: Browser, name: str) -> str:
    info = await browser.until(PATH.format(name), lambda found: found["state"] in ("serving", "ended"))
    assert info["state"] == "serving", info
    return str(info["path"])


async def test_it_is_shown_without_the_session_and_stopped(browser: Browser, work: pathlib.Path) -> None:
    tensorboard_stand_in.install(work)
    await browser.create(tensorboard_stand_in.job("board", work))
    (work / "runs" / "index.html").write_text("<!doctype html><title>board</title>")
    (work / "runs" / "large.bin").write_bytes(b"x" * 3_000_000)
    assert (await browser.get(PATH.format("board")))["state"] == "absent"
    status, info = await browser.call("POST", PATH.format("board"), {})
    assert (status, info["state"]) == (200, "starting")
    path = await serving(browser, "board")
    assert path.startswith("/view/")
    assert len(path) > 40

    foreign = {"Origin": "null", "Sec-Fetch-Site": "cross-site", "Cookie": "traincrew-console=secret"}
    async with browser.http.get(f"{browser.origin}{path}", headers=foreign) as response:
        text = await response.text()
        assert response.headers["Content-Security-Policy"] == "sandbox allow-scripts; frame-ancestors 'self'"
        assert "Set-Cookie" not in response.headers
        assert text.startswith("<!doctype html><script>")
        assert text.endswith("<title>board</title>")
    async with browser.http.get(f"{browser.origin}{path}large.bin") as response:
        assert len(await response.read()) == 3_000_000
    async with browser.http.post(f"{browser.origin}{path}data", data=b"asked", headers=foreign) as response:
        assert await response.text() == "asked None"
    async with browser.http.options(f"{browser.origin}{path}data", headers=foreign) as response:
        assert (response.status, response.headers["Access-Control-Allow-Origin"]) == (204, "*")
    for wrong in ("/view/guess/", "/view/"):
        async with browser.http.get(f"{browser.origin}{wrong}", headers=foreign) as response:
            assert "board" not in await response.text()
    async with browser.http.get(f"{browser.origin}{path}", headers={"Host": "evil.example"}) as response:
        assert response.status == 403

    assert (await browser.call("DELETE", PATH.format("board")))[1]["state"] == "absent"
    async with browser.http.get(f"{browser.origin}{path}") as response:
        assert response.status == 404
    await browser.call("DELETE", "jobs/default/jaxjob/board")


async def test_a_missing_tensorboard_is_reported_with_what_to_install(browser: Browser, work: pathlib.Path) -> None:
    await browser.create(tensorboard_stand_in.job("bare", work))
    assert (await browser.call("POST", PATH.format("bare"), {}))[0] == 200
    info = await browser.until(PATH.format("bare"), lambda found: found["state"] == "ended")
    assert "TensorBoard is not installed" in info["message"]
    assert "pip install tensorboard" in info["message"]
    await browser.call("DELETE", "jobs/default/jaxjob/bare")


async def test_logs_that_no_other_pod_can_read_are_refused_with_the_reason(browser: Browser, work: pathlib.Path) -> None:
    document = tensorboard_stand_in.job("private", work)
    pod = document["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]
    pod["volumes"][0] = {"name": "work", "emptyDir": {}}
    await browser.create(document)
    status, error = await browser.call("POST", PATH.format("private"), {})
    assert (status, error["reason"]) == (422, "Invalid")
    assert "emptyDir" in error["message"]
    await browser.call("DELETE", "jobs/default/jaxjob/private")


async def test_the_pod_of_a_session_that_has_ended_is_deleted(
    machine: Machine, browser: Browser, work: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    tensorboard_stand_in.install(work)
    await browser.create(tensorboard_stand_in.job("left", work))
    token = users.token_of(machine.kubeconfig, "left-user", "admin")
    async with users.console(machine.kubeconfig, tmp_path / "page-of-users") as (origin, _), users.visitor(origin) as ana:
        await ana.enter(token=token)
        assert (await ana.call("POST", PATH.format("left"), {}))[0] == 200
        pod = Api(machine.kubeconfig).call("GET", f"{PODS}/left-tensorboard")
        assert pod["spec"]["activeDeadlineSeconds"] == 12 * 3600  # for a console that is killed
        assert (await browser.get(PATH.format("left")))["state"] != "absent"
        assert (await ana.call("DELETE", "session"))[0] == 204
        await browser.until(PATH.format("left"), lambda found: found["state"] == "absent")

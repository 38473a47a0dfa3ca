"""Recording files through the console: a job is exported by who may read it, and opened by any console."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import io
import pathlib
import signal
import subprocess
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import msgspec
import pytest
from tests.cli.cluster_fixture import COMMAND
from tests.console import console_fixture, users
from tests.console.console_fixture import Browser, Machine, job
from tests.console.test_history import READ_JOBS, READ_PODS, delete_when_ended, user
from tests.history import recordings
from tests.history.recordings import lines, log

from traincrew import errors
from traincrew.console import links, opened_recordings, run
from traincrew.history import opened_recording, recording_lines
from traincrew.history.database_thread import open_store
from traincrew.history.records import JobQuery


async def ended(browser: Browser, name: str, namespace: str = "default") -> str:
    """The path of a job that has ended with all of its replicas."""
    path, ends = f"jobs/{namespace}/jaxjob/{name}", ("Succeeded", "Failed")
    await browser.until(
        path, lambda found: found["summary"]["status"] in ends and all(each["state"] in ends for each in found["replicas"])
    )
    return path


async def download(browser: Browser, path: str) -> bytes:
    headers = {"X-CSRF-Token": browser.csrf}
    async with browser.http.get(f"{browser.origin}/api/v1/{path}/recording", headers=headers) as response:
        found = await response.read()
        assert response.status == 200, found
        assert response.content_type == "application/gzip"
        assert response.headers["Content-Disposition"].endswith('.recording.jsonl.gz"')
        return found


@contextlib.asynccontextmanager
async def without_cluster(data: bytes, directory: pathlib.Path) -> AsyncIterator[tuple[Browser, str]]:
    """A browser that is signed in to a console which shows a file, and the path of the job."""
    file = await opened_recording.open_recording(recordings.chunks(data), recording_lines.LOCAL)
    known, listening = links.Links("secret"), run.Listen().socket()
    link = f"http://127.0.0.1:{listening.getsockname()[1]}/#token={known.new_token()}"
    jar = aiohttp.CookieJar(unsafe=True)
    page = console_fixture.page(directory)
    async with run.showing(file, listening, page, known) as path, aiohttp.ClientSession(cookie_jar=jar) as http:
        browser = Browser(http, link)
        await browser.sign_in()
        yield browser, path.removeprefix("/")


async def check_pages(browser: Browser, path: str, name: str) -> None:
    """All pages of a job with two replicas that printed `loss=0.5` and failed."""
    detail = await browser.get(path)
    assert (detail["summary"]["name"], detail["summary"]["status"]) == (name, "Failed")
    assert detail["recording"]["version"]
    assert detail["diagnosis"]["failure"]["evidence"] == ["loss=0.5"]
    assert [each["state"] for each in detail["replicas"]] == ["Failed", "Failed"]
    assert {phase["name"] for each in detail["timeline"] for phase in each["phases"]} >= {"Running", "Failed"}
    assert {each["reason"] for each in detail["actions"]} == {"this is a recording of the job"}
    assert not detail["terminal"]["allowed"]
    assert "SuccessfulCreatePod" in {each["reason"] for each in detail["events"]}
    changes = (await browser.get(f"history/recordings/{path.partition('@')[2]}/conditions"))["changes"]
    assert {"Created", "Running", "Failed"} <= {each["type"] for each in changes}
    assert f"name: {name}\n" in (await browser.get(f"{path}/yaml"))["yaml"]
    assert (await browser.get(f"{path}/replicas/worker-1"))["containers"]
    found = await browser.get(f"{path}/logs")
    assert {(each["replica"], each["text"]) for each in found["lines"]} == {("worker-0", "loss=0.5"), ("worker-1", "loss=0.5")}
    assert {each["name"] for each in (await browser.get(f"{path}/metrics"))["output"]} == {"loss"}
    async with browser.stream() as stream:
        for topic, kind in (("job", "job.snapshot"), ("logs", "logs.snapshot"), ("metrics", "metrics.snapshot")):
            await stream.subscribe(f"{topic}:{path.removeprefix('jobs/')}")
            assert (await stream.next(kind))["data"]
            assert (await stream.next("end"))["reason"] == "Finished"


async def test_a_recording_shows_every_page_of_the_job_in_a_console_without_a_cluster(
    browser: Browser, tmp_path: pathlib.Path
) -> None:
    await browser.create(job("flight", "echo loss=0.5; exit 3", 2))
    data = await download(browser, await ended(browser, "flight"))
    async with without_cluster(data, tmp_path / "offline") as (offline, path):
        await check_pages(offline, path, "flight")
        assert (await offline.get("capabilities"))["mode"] == "recording"
        for method, other in (
            ("GET", "jobs"),
            ("GET", "nodes"),
            ("GET", "jobs/default/jaxjob/flight"),
            ("GET", "jobs/default/jaxjob/flight/recording"),
            ("DELETE", "jobs/default/jaxjob/flight"),
            ("POST", "jobs/default/jaxjob/flight:suspend"),
            ("DELETE", path),
        ):
            status, error = await offline.call(method, other)
            assert (status, error["reason"]) == (409, "NoCluster"), other
        async with offline.stream() as stream:
            for topic in ("jobs", "job:default/jaxjob/flight"):
                await stream.subscribe(topic)
                assert "has no cluster" in (await stream.next("error"))["error"]["message"]


async def test_a_deleted_job_is_exported_and_opened_in_a_console_of_a_cluster(browser: Browser) -> None:
    await browser.create(job("lost", "echo loss=0.5; exit 3", 2))
    uid = await delete_when_ended(browser, "default", "lost")
    data = await download(browser, f"jobs/default/jaxjob/lost@{uid}")
    status, opened = await browser.call("POST", "recordings", data)
    assert status == 200, opened
    path = f"jobs/default/jaxjob/lost@{opened['id']}"
    await check_pages(browser, path, "lost")
    assert [each["id"] for each in (await browser.get("recordings"))["recordings"]] == [opened["id"]]
    status, error = await browser.call("GET", f"{path}/recording")
    assert (status, error["message"]) == (422, "this is a recording already: copy its file")
    assert (await browser.call("DELETE", f"recordings/{opened['id']}"))[1] == {"recordings": []}
    status, error = await browser.call("GET", path)
    assert (status, error["reason"]) == (404, "NotFound")


async def test_rights_are_those_of_the_history(machine: Machine, browser: Browser, tmp_path: pathlib.Path) -> None:
    async with (
        user(machine, tmp_path, "team-e", READ_JOBS, READ_PODS) as ana,
        user(machine, tmp_path, "team-f", READ_JOBS, READ_PODS) as bob,
    ):
        await browser.create(job("plan", "echo secret plan", namespace="team-e"))
        path = await ended(browser, "plan", "team-e")
        uid = (await browser.get(path))["summary"]["uid"]
        await browser.until("history/jobs?namespace=team-e", lambda found: found["jobs"])
        await browser.until(f"history/recordings/{uid}", lambda found: found["pods"])  # it is written a second later
        for each in (path, f"{path}@{uid}"):
            status, error = await bob.call("GET", f"{each}/recording")
            assert (status, error["reason"]) == (403, "Forbidden"), error
            assert error["missingRight"]["namespace"] == "team-e", error
            content = gzip.decompress(await download(ana, each))
            assert b'"type":"pod"' in content
            assert b'"type":"log"' not in content  # ana may not read logs
            assert b'cannot get resource \\"pods/log\\"' in content
            assert b'"secret plan"' not in content


async def test_another_user_does_not_see_what_is_opened(machine: Machine, tmp_path: pathlib.Path) -> None:
    async with users.console(machine.kubeconfig, tmp_path / "page") as (origin, _):
        found = list[Browser]()
        async with contextlib.AsyncExitStack() as stack:
            for name in ("opens", "looks"):
                jar = aiohttp.CookieJar(unsafe=True)
                http = await stack.enter_async_context(aiohttp.ClientSession(cookie_jar=jar))
                visitor = users.Visitor(http, f"{origin}/#token=")
                await visitor.enter(token=users.token_of(machine.kubeconfig, name, "view"))
                found.append(visitor)
            status, opened = await found[0].call("POST", "recordings", recordings.encoded(lines()))
            assert status == 200, opened
            path = f"jobs/default/jaxjob/mnist@{opened['id']}"
            assert (await found[0].get(path))["recording"]
            assert (await found[1].call("GET", path))[0] == 404
            assert (await found[1].call("DELETE", f"recordings/{opened['id']}"))[0] == 404
            assert (await found[1].get("recordings"))["recordings"] == []


def hostile(**fields: Any) -> bytes:
    documents = [msgspec.to_builtins(each) for each in lines()]
    documents[1]["object"] = {**documents[1]["object"], **fields}
    return recordings.raw(*documents, {"type": "end", "lines": len(documents)})


def spec(replicas: Any) -> dict[str, Any]:
    worker = {"replicas": replicas, "template": {"spec": {"containers": [{"name": "jax", "image": "any"}]}}}
    return {"jaxReplicaSpecs": {"Worker": worker}}


async def test_files_that_nobody_can_show_are_refused_and_the_console_goes_on(browser: Browser) -> None:
    whole = recordings.encoded(lines())
    for data, message in (
        (b"", "the file is empty"),
        (b"hello", "not a recording of traincrew"),
        (whole[:-9], "is not complete"),
        (gzip.compress(b"\n" * 100_000_000), "not a recording of traincrew"),
    ):
        status, error = await browser.call("POST", "recordings", data)
        assert status == 422, data[:40]
        assert message in error["message"]
    assert (await browser.get("recordings"))["recordings"] == []
    replicas = [hostile(spec=spec(number), status={}) for number in (2_000_000_000, 1 << 200, -1, "many")]
    for data in (*replicas, hostile(spec="text", status=[1, 2]), hostile(spec=None)):
        status, found = await browser.call("POST", "recordings", data)  # what the decoders of objects pass over may be shown
        assert status in (200, 422), found
    status, _ = await browser.call("POST", "recordings", whole)
    assert status == 200
    visitor_status, _ = await browser.call("POST", "recordings", whole, **{"X-CSRF-Token": "wrong"})
    assert visitor_status == 401


async def test_script_tags_and_paths_in_a_recording_are_text(browser: Browser) -> None:
    text = "2026-11-18T07:30:30Z <script>alert(1)</script> ../../etc/passwd\n"
    _, opened = await browser.call("POST", "recordings", recordings.encoded(lines(log(text=text))))
    found = await browser.get(f"jobs/default/jaxjob/mnist@{opened['id']}/logs")
    assert [each["text"] for each in found["lines"]] == [text.partition(" ")[2].strip()]


async def test_the_oldest_recordings_are_closed_and_space_is_limited(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    data = recordings.encoded(lines())
    names = [(await browser.call("POST", "recordings", data))[1]["id"] for _ in range(opened_recordings.MAX_OPENED + 1)]
    assert [each["id"] for each in (await browser.get("recordings"))["recordings"]] == names[:0:-1]
    small = recording_lines.RecordingLimits(file=1000, content=1 << 20)
    monkeypatch.setattr(recording_lines, "UPLOAD", small)
    status, error = await browser.call("POST", "recordings", data + bytes(2000))
    assert (status, error["reason"]) == (413, "TooLarge")
    assert "traincrew open FILE" in error["nextStep"]


async def test_requests_are_answered_while_a_large_recording_is_read(browser: Browser) -> None:
    text = "".join(f"2026-11-18T07:30:30Z line {number} of many\n" for number in range(1500))
    data = recordings.encoded(lines(*(log(number, text) for number in range(1500))))
    opening = asyncio.create_task(browser.call("POST", "recordings", io.BytesIO(data)))
    answered = 0
    while not opening.done():
        await browser.get("session")
        answered += 1
    status, found = await opening
    assert status == 200, found
    assert answered > 5


async def test_logs_that_a_recorder_copies_are_exported_to_their_present_end(machine: Machine, tmp_path: pathlib.Path) -> None:
    """As on a cluster: the console reads no files of the node."""
    history = tmp_path / "history.db"
    command = [*COMMAND, "recorder", "--history", str(history), "--kubeconfig", str(machine.kubeconfig)]
    with (tmp_path / "log").open("wb") as output:
        process = await asyncio.create_subprocess_exec(*command, stdout=output, stderr=subprocess.STDOUT)
    try:
        async with users.console(machine.kubeconfig, tmp_path / "page", history=str(history)) as (origin, _):
            jar = aiohttp.CookieJar(unsafe=True)
            async with aiohttp.ClientSession(cookie_jar=jar) as http:
                browser = users.Visitor(http, f"{origin}/#token=")
                await browser.enter(token=users.token_of(machine.kubeconfig, "exporter", "admin"))
                await browser.create(job("copied", "echo first; sleep 6; echo last; sleep 1000"))
                await _until_copied(history, "copied", b"first")
                path = "jobs/default/jaxjob/copied"
                await browser.until(f"{path}/logs", lambda found: [each["text"] for each in found["lines"]] == ["first", "last"])
                content = gzip.decompress(await download(browser, path))
                assert content.count(b"Z first") == content.count(b"Z last") == 1
                assert b'"type":"missing"' not in content
                await browser.call("DELETE", path)
    finally:
        process.send_signal(signal.SIGTERM)
        await process.wait()


async def _until_copied(history: pathlib.Path, name: str, text: bytes) -> None:
    def has_text() -> bool:
        try:
            store = open_store(str(history), writable=False)
        except errors.StoreError:  # nothing is recorded yet
            return False
        try:
            found = [store.recording(each.uid) for each in store.jobs(JobQuery(name=name))]
            pods = [pod.uid for each in found if each is not None for pod in each.pods]
            return any((chunk := store.last_log(pod, "jax")) is not None and text in chunk.lines for pod in pods)
        finally:
            store.close()

    async with asyncio.timeout(console_fixture.SECONDS):
        while not await asyncio.to_thread(has_text):  # noqa: ASYNC110 - the recorder writes in its own time
            await asyncio.sleep(0.2)

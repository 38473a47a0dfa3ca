"""A history that a recorder elsewhere has written: what users find in it beside the jobs that exist."""

from __future__ import annotations

import json
import pathlib
from typing import Any

from tests.console import console_fixture
from tests.console.console_fixture import Browser, Machine, job
from tests.console.test_history import READ_JOBS, READ_PODS, user
from tests.console.test_history_limits import write
from tests.history import recordings

from traincrew.history.records import Batch, JobRecord, LogChunk, PodRecord

TIME = recordings.TIME
LIST_JOBS = {**READ_JOBS, "verbs": ["get", "list", "watch"]}
WATCH_PODS = {**READ_PODS, "verbs": ["get", "list", "watch"]}


async def replaced_pod(browser: Browser, tmp_path: pathlib.Path, namespace: str) -> pathlib.Path:
    """The history of a job that runs, with an earlier pod of a replica that the node does not know any more."""
    found = await browser.until(f"jobs/{namespace}/jaxjob/long", lambda found: found["summary"]["status"] == "Running")
    uid = found["summary"]["uid"]
    document: dict[str, Any] = recordings.pod().object
    document["metadata"] |= {"name": "long-worker-0", "namespace": namespace, "uid": "earlier"}
    document["metadata"]["labels"]["training.kubeflow.org/job-name"] = "long"
    present = JobRecord(uid, namespace, "jaxjob", "long", TIME, None, json.dumps(recordings.job().object).encode())
    pod = PodRecord("earlier", uid, "long-worker-0", TIME, TIME + 1, json.dumps(document).encode())
    log = LogChunk("earlier", "jax", 0, 0, TIME, b"2026-11-18T07:30:30.000000001Z printed before\n")
    return write(tmp_path / f"{namespace}.db", Batch(jobs=(present,), pods=(pod,)), log)


async def stream_logs(browser: Browser, topic: str, until: str) -> tuple[list[str], dict[tuple[str, bool], int | None]]:
    lines, sources = list[str](), dict[tuple[str, bool], int | None]()
    async with browser.stream() as stream:
        await stream.subscribe(topic)
        while until not in lines:
            data = (await stream.next("logs.snapshot", "logs.patch"))["data"]
            lines += [line["text"] for line in data["lines"]]
            sources |= {(each["source"], each["ended"]): each["exitCode"] for each in data["sources"]}
    return lines, sources


async def test_copied_logs_of_a_replaced_pod_are_shown_before_those_of_the_present_one(
    machine: Machine, browser: Browser, tmp_path: pathlib.Path
) -> None:
    await browser.create(job("long", "echo printed now; exec sleep 1000"))
    history = await replaced_pod(browser, tmp_path, "default")
    async with console_fixture.console(machine.kubeconfig, tmp_path / "cluster", history=history) as elsewhere:
        await elsewhere.sign_in()
        await elsewhere.until(
            "jobs/default/jaxjob/long/logs",
            lambda found: [line["text"] for line in found["lines"]] == ["printed before", "printed now"],
        )
        lines, sources = await stream_logs(elsewhere, "logs:default/jaxjob/long?tail=10", "printed now")
        assert lines == ["printed before", "printed now"]
        assert sources["worker-0/jax", True] == 3
    await browser.call("DELETE", "jobs/default/jaxjob/long")


async def test_copied_logs_are_for_who_may_read_logs(machine: Machine, browser: Browser, tmp_path: pathlib.Path) -> None:
    history = tmp_path / "team-r.db"
    async with user(machine, tmp_path, "team-r", LIST_JOBS, WATCH_PODS, history=history) as reader:
        await browser.create(job("long", "echo printed now; exec sleep 1000", namespace="team-r"))
        assert await replaced_pod(browser, tmp_path, "team-r") == history
        found = await reader.get("jobs/team-r/jaxjob/long/logs")
        assert found["lines"] == []
        assert ["pods/log" in each["error"] for each in found["sources"]] == [True]
    await browser.call("DELETE", "jobs/team-r/jaxjob/long")


async def test_a_job_that_ended_before_anyone_looked_has_its_usage(
    machine: Machine, browser: Browser, tmp_path: pathlib.Path
) -> None:
    await browser.create(job("unseen", "exec sleep 1000"))
    found = await browser.until("jobs/default/jaxjob/unseen", lambda found: found["summary"]["status"] == "Running")
    uid = found["summary"]["uid"]
    # A recording that the recorder has not begun is an error.
    await browser.until("history/jobs?namespace=default&name=unseen", lambda found: found["jobs"])
    await browser.until(f"history/recordings/{uid}", lambda found: found["samples"] and len(found["samples"][0]["times"]) > 1)
    await browser.call("POST", "jobs/default/jaxjob/unseen:suspend")
    await browser.until("jobs/default/jaxjob/unseen", lambda found: found["summary"]["status"] == "Suspended")
    recorded = (await browser.get(f"history/recordings/{uid}"))["samples"][0]
    async with console_fixture.console(machine.kubeconfig, tmp_path / "later", machine.data) as later:
        await later.sign_in()
        (usage,) = (await later.get("jobs/default/jaxjob/unseen/metrics?output=0"))["usage"]
        assert usage["times"][: len(recorded["times"])] == recorded["times"]
        assert usage["memory"][: len(recorded["memory"])] == recorded["memory"]
        async with later.stream() as stream:
            await stream.subscribe("metrics:default/jaxjob/unseen?output=0")
            assert (await stream.next("metrics.snapshot"))["data"]["usage"][0]["times"] == usage["times"]
    async with console_fixture.console(machine.kubeconfig, tmp_path / "plain") as plain:
        await plain.sign_in()
        assert (await plain.get("jobs/default/jaxjob/unseen/metrics?output=0"))["usage"] == []
    await browser.call("DELETE", "jobs/default/jaxjob/unseen")

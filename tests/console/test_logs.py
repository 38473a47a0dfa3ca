"""Logs of real processes: merged, filtered, resumed, hostile."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.console.console_fixture import Browser, Machine, job

NUMBERS = """
host=$(hostname); for number in $(seq 1 {count}); do echo "line $number of $host"; {pause}; done; {then}
"""


def numbers(name: str, count: int, pause: str = ":", then: str = "exit 0", workers: int = 2) -> dict[str, Any]:
    return job(name, NUMBERS.format(count=count, pause=pause, then=then), workers)


async def ended(browser: Browser, name: str) -> None:
    await browser.until(f"jobs/default/jaxjob/{name}", lambda found: found["summary"]["status"] in ("Succeeded", "Failed"))


def texts(lines: list[dict[str, Any]], replica: str) -> list[str]:
    return [line["text"] for line in lines if line["replica"] == replica]


async def test_the_logs_of_all_replicas_are_merged_in_time_and_each_keeps_its_order(browser: Browser) -> None:
    await browser.create(numbers("merged", 200, pause="sleep 0.005"))
    await ended(browser, "merged")
    page = await browser.get("jobs/default/jaxjob/merged/logs")
    assert (page["matches"], page["truncated"]) == (400, False)
    for index in (0, 1):
        wanted = [f"line {number} of merged-worker-{index}" for number in range(1, 201)]
        assert texts(page["lines"], f"worker-{index}") == wanted
    times = [line["time"] for line in page["lines"]]
    assert times == sorted(times)
    replicas = [line["replica"] for line in page["lines"]]
    assert replicas != sorted(replicas), "the lines of both replicas alternate"
    assert len({(line["source"], line["sequence"]) for line in page["lines"]}) == 400
    assert [(each["ended"], each["exitCode"]) for each in page["sources"]] == [(True, 0), (True, 0)]


async def test_logs_are_filtered_by_replica_text_level_and_number(browser: Browser) -> None:
    script = "echo 'INFO starting'; echo 'plain text'; echo 'WARNING: overflow'; echo 'ValueError: bad'; echo 'DEBUG x=1'"
    await browser.create(job("filtered", script, workers=2))
    await ended(browser, "filtered")
    path = "jobs/default/jaxjob/filtered/logs"

    async def found(query: str) -> list[str]:
        return texts((await browser.get(f"{path}?replica=worker-1&{query}"))["lines"], "worker-1")

    assert await found("level=warning") == ["WARNING: overflow", "ValueError: bad"]
    assert await found("level=error") == ["ValueError: bad"]
    assert await found("level=info") == ["INFO starting", "plain text", "WARNING: overflow", "ValueError: bad"]
    assert await found("q=OVER") == ["WARNING: overflow"]
    assert await found("q=%5E(plain%7Cdebug)&regex=1") == ["plain text", "DEBUG x=1"]
    assert await found("tail=2") == ["ValueError: bad", "DEBUG x=1"]
    assert {line["replica"] for line in (await browser.get(path))["lines"]} == {"worker-0", "worker-1"}
    limited = await browser.get(f"{path}?limit=3")
    assert (len(limited["lines"]), limited["truncated"], limited["matches"]) == (3, True, 10)
    assert (await browser.call("GET", f"{path}?q=(&regex=1"))[1]["reason"] == "Invalid"


async def test_logs_are_downloaded_as_lines_of_json_and_as_text(browser: Browser) -> None:
    await browser.create(numbers("saved", 20))
    await ended(browser, "saved")
    status, text = await browser.call("GET", "jobs/default/jaxjob/saved/logs?format=ndjson&download=1")
    assert status == 200
    assert len([json.loads(line) for line in text.splitlines()]) == 40
    status, text = await browser.call("GET", "jobs/default/jaxjob/saved/logs?format=text&download=1")
    assert sum(line.endswith("of saved-worker-0") for line in text.splitlines()) == 20
    url = f"{browser.origin}/api/v1/jobs/default/jaxjob/saved/logs?format=text&download=1"
    async with browser.http.get(url, headers={"X-CSRF-Token": browser.csrf}) as response:
        assert response.headers["Content-Disposition"] == 'attachment; filename="default-saved.log"'
        assert response.headers["X-Content-Type-Options"] == "nosniff"


async def test_a_stream_delivers_each_line_once_and_ends_with_the_exit_codes(browser: Browser) -> None:
    await browser.create(numbers("follows", 100, pause="sleep 0.02", then="exit 3"))
    lines: list[dict[str, Any]] = []
    sources: dict[str, dict[str, Any]] = {}
    async with browser.stream() as stream:
        await stream.subscribe("logs:default/jaxjob/follows")
        while (message := await stream.next("logs.snapshot", "logs.patch", "end"))["type"] != "end":
            lines += message["data"]["lines"]
            sources |= {each["source"]: each for each in message["data"]["sources"]}
    assert message["reason"] == "Finished"
    for index in (0, 1):
        got = texts(lines, f"worker-{index}")
        assert got == [f"line {number} of follows-worker-{index}" for number in range(1, len(got) + 1)]
    assert any(source["ended"] and source["exitCode"] == 3 for source in sources.values())


async def test_a_page_that_comes_back_gets_the_lines_it_missed_and_none_twice(browser: Browser) -> None:
    await browser.create(numbers("resumes", 300, pause="sleep 0.02"))
    lines: list[dict[str, Any]] = []
    connections = 0
    message: dict[str, Any] = {"type": ""}
    while message["type"] != "end":
        connections += 1
        positions = {line["source"]: line["sequence"] for line in lines}
        async with browser.stream() as stream:
            await stream.subscribe("logs:default/jaxjob/resumes", positions=positions)
            for _ in range(4):
                message = await stream.next("logs.snapshot", "logs.patch", "end")
                if message["type"] == "end":
                    break
                lines += message["data"]["lines"]
    assert connections > 3
    for index in (0, 1):
        wanted = [f"line {number} of resumes-worker-{index}" for number in range(1, 301)]
        assert texts(lines, f"worker-{index}") == wanted
    await ended(browser, "resumes")
    complete = await browser.get("jobs/default/jaxjob/resumes/logs")
    assert {(line["source"], line["sequence"], line["text"]) for line in lines} == {
        (line["source"], line["sequence"], line["text"]) for line in complete["lines"]
    }


async def test_the_previous_run_of_a_container_is_shown(browser: Browser) -> None:
    document = job("again", "[ -e /tmp/ran ] && sleep 1000; touch /tmp/ran; echo first run; exit 1")
    worker = document["spec"]["jaxReplicaSpecs"]["Worker"]
    worker["restartPolicy"] = "OnFailure"
    worker["template"]["spec"]["volumes"] = [{"name": "tmp", "emptyDir": {}}]
    worker["template"]["spec"]["containers"][0]["volumeMounts"] = [{"name": "tmp", "mountPath": "/tmp"}]  # noqa: S108
    await browser.create(document)
    await browser.until(
        "jobs/default/jaxjob/again",
        lambda found: any(each["restarts"] and each["state"] == "Running" for each in found["replicas"]),
    )
    path = "jobs/default/jaxjob/again/logs"
    assert texts((await browser.get(f"{path}?previous=1"))["lines"], "worker-0") == ["first run"]
    assert texts((await browser.get(path))["lines"], "worker-0") == []
    await browser.call("DELETE", "jobs/default/jaxjob/again")


HOSTILE = r"""
printf '<script>alert(1)</script>\n'
printf '\033[2J\033]0;title\007red \033[31mtext\n'
printf '\000\001\377\376 binary\n'
head -c 10485760 /dev/zero | tr '\0' x; echo
printf 'no newline at the end'
"""


async def test_hostile_output_arrives_as_text_and_a_line_of_ten_megabytes_is_cut(browser: Browser) -> None:
    await browser.create(job("hostile", HOSTILE))
    await ended(browser, "hostile")
    async with browser.stream() as stream:
        await stream.subscribe("logs:default/jaxjob/hostile")
        lines: list[dict[str, Any]] = []
        while (message := await stream.next("logs.snapshot", "logs.patch", "end"))["type"] != "end":
            lines += message["data"]["lines"]
    assert [line["text"] for line in lines[:3]] == [
        "<script>alert(1)</script>",
        "\033[2J\033]0;title\007red \033[31mtext",
        "\0\1\ufffd\ufffd binary",
    ]
    assert (len(lines[3]["text"]), lines[3]["bytes"]) == (64 * 1024, 10 * 1024 * 1024)
    assert lines[4]["text"] == "no newline at the end"
    page = await browser.get("jobs/default/jaxjob/hostile/logs")
    assert [line["text"] for line in page["lines"]] == [line["text"] for line in lines]
    async with browser.http.get(
        f"{browser.origin}/api/v1/jobs/default/jaxjob/hostile/logs?format=text", headers={"X-CSRF-Token": browser.csrf}
    ) as response:
        assert response.content_type == "text/plain"
        assert "sandbox" in response.headers["Content-Security-Policy"]
        assert len(await response.read()) > 10 * 1024 * 1024


async def test_a_line_without_an_end_is_read_to_a_limit_and_the_lines_after_it_follow(browser: Browser) -> None:
    await browser.create(job("endless", "head -c 41943040 /dev/zero | tr '\\0' x; echo; echo after"))
    await ended(browser, "endless")
    page = await browser.get("jobs/default/jaxjob/endless/logs")
    long, after = page["lines"]
    assert len(long["text"]) == 64 * 1024
    assert 15 * 1024 * 1024 < long["bytes"] <= 16 * 1024 * 1024
    assert after["text"] == "after"


@pytest.mark.parametrize(
    "topic",
    ["logs:default/jaxjob/none", "logs:default/none/x", "logs:x", "job:", "nothing", "jobs?sort=x", "logs:a/jaxjob/b?level=loud"],
)
async def test_a_topic_that_does_not_exist_gets_an_error_and_the_connection_goes_on(browser: Browser, topic: str) -> None:
    async with browser.stream() as stream:
        await stream.subscribe(topic)
        found = await stream.next("error")
        assert (found["topic"], found["retrying"]) == (topic, False)
        await stream.subscribe("jobs")
        await stream.next("jobs.snapshot")


async def test_a_message_that_is_not_valid_gets_an_error_and_the_connection_goes_on(browser: Browser) -> None:
    async with browser.stream() as stream:
        for text in (
            "",
            "[]",
            '{"type": "subscribe"}',
            '{"type": "other", "topic": "jobs"}',
            '{"type":"subscribe","topic":"jobs","x":1}',
        ):
            await stream.socket.send_str(text)
            assert (await stream.next("error"))["error"]["reason"] == "Invalid"
        await stream.subscribe("jobs")
        await stream.next("jobs.snapshot")


async def test_streams_go_on_after_the_cluster_was_killed_and_started_again(browser: Browser, machine: Machine) -> None:
    await browser.create(numbers("survives", 150, pause="sleep 0.1", workers=2))
    lines: list[dict[str, Any]] = []
    async with browser.stream() as stream:
        await stream.subscribe("jobs?q=survives")
        await stream.subscribe("job:default/jaxjob/survives")
        await stream.subscribe("logs:default/jaxjob/survives")
        while len(lines) < 50:
            lines += (await stream.next("logs.snapshot", "logs.patch"))["data"]["lines"]
        machine.kill()
        states: list[str] = []
        while "away" not in states:
            message = await stream.next("cluster", "logs.patch")
            states += [message["state"]] if message["type"] == "cluster" else []
            lines += message["data"]["lines"] if message["type"] == "logs.patch" else []
        status, error = await browser.call("GET", "jobs/default/jaxjob/survives")
        assert (status, error["reason"]) == (503, "Unreachable")
        assert (await browser.get("jobs?q=survives"))["total"] == 1, "the last state is still there"
        machine.up()
        statuses: list[str] = []
        sources: dict[str, dict[str, Any]] = {}
        while (message := await stream.next("cluster", "logs.patch", "jobs.patch", "end"))["type"] != "end":
            if message["type"] == "cluster":
                states.append(message["state"])
            elif message["type"] == "logs.patch":
                lines += message["data"]["lines"]
                sources |= {each["source"]: each for each in message["data"]["sources"]}
            else:
                statuses += [each["status"] for each in message["data"]["changed"]]
        assert states[-1] == "connected"
        assert {(each["ended"], each["exitCode"], each["error"]) for each in sources.values()} == {(True, 0, "")}
    for index in (0, 1):
        wanted = [f"line {number} of survives-worker-{index}" for number in range(1, 151)]
        assert texts(lines, f"worker-{index}") == wanted
    await browser.until("jobs?q=survives&status=Succeeded", lambda found: found["total"] == 1)


async def test_the_logs_and_the_evidence_of_deleted_pods_are_kept(browser: Browser) -> None:
    document = job("gone", "echo before the end; exec python3 -c 'import no_such_module'")
    document["spec"]["runPolicy"] = {"cleanPodPolicy": "All", "backoffLimit": 0}
    await browser.create(document)
    path = "jobs/default/jaxjob/gone"
    await browser.until(path, lambda found: found["summary"]["status"] == "Failed" and not found["replicas"])
    found = await browser.get(f"{path}/logs")
    assert "before the end" in texts(found["lines"], "worker-0")
    assert [(each["source"], each["ended"], each["error"]) for each in found["sources"]] == [("worker-0/jax", True, "")]
    detail = await browser.get(path)
    assert any("ModuleNotFoundError" in line for line in detail["diagnosis"]["failure"]["evidence"])
    async with browser.stream() as stream:
        await stream.subscribe("logs:default/jaxjob/gone")
        shown = (await stream.next("logs.snapshot"))["data"]
        assert "before the end" in texts(shown["lines"], "worker-0")
        assert shown["sources"][0]["ended"]
        last = shown["lines"][-1]
        assert (await stream.next("end"))["reason"] == "Finished"
        await stream.subscribe("logs:default/jaxjob/gone", positions={last["source"]: last["sequence"]})
        again = await stream.next("logs.patch", "end")
        assert again["type"] == "end" or again["data"]["lines"] == []
    await browser.call("DELETE", path)
    await browser.until("jobs?q=gone", lambda found: found["total"] == 0)
    await browser.create(job("gone", "sleep 1000"))
    await browser.until(path, lambda found: found["summary"]["status"] == "Running")
    assert (await browser.get(f"{path}/logs"))["lines"] == []
    await browser.call("DELETE", path)


async def test_the_earlier_runs_of_a_container_are_followed_by_its_present_one(browser: Browser) -> None:
    document = job("twice", "[ -e /tmp/ran ] && echo second run && exec sleep 1000; touch /tmp/ran; echo first run; exit 1")
    worker = document["spec"]["jaxReplicaSpecs"]["Worker"]
    worker["restartPolicy"] = "OnFailure"
    worker["template"]["spec"]["volumes"] = [{"name": "tmp", "emptyDir": {}}]
    worker["template"]["spec"]["containers"][0]["volumeMounts"] = [{"name": "tmp", "mountPath": "/tmp"}]  # noqa: S108
    await browser.create(document)
    path = "jobs/default/jaxjob/twice"
    await browser.until(path, lambda found: any(each["restarts"] and each["state"] == "Running" for each in found["replicas"]))
    await browser.until(f"{path}/logs", lambda found: texts(found["lines"], "worker-0") == ["second run"])
    async with browser.stream() as stream:
        await stream.subscribe("logs:default/jaxjob/twice?previous=1")
        seen: list[str] = []
        while "second run" not in seen:
            message = await stream.next("logs.snapshot", "logs.patch")
            seen += texts(message["data"]["lines"], "worker-0")
        assert seen == ["first run", "second run"]
    await browser.call("DELETE", path)


MANY = 30_000


async def all_lines(browser: Browser, topic: str) -> tuple[list[dict[str, Any]], int, str]:
    """Of a topic that ends: its lines, how many were skipped, and the reason of the end."""
    lines, skipped = list[dict[str, Any]](), 0
    async with browser.stream() as stream:
        await stream.subscribe(topic)
        while (message := await stream.next("logs.snapshot", "logs.patch", "end"))["type"] != "end":
            lines += message["data"]["lines"]
            skipped += message["data"]["skipped"]
    return lines, skipped, message["reason"]


@pytest.mark.parametrize("policy", ["All", "None"])
async def test_all_lines_of_large_logs_arrive_also_of_deleted_pods(browser: Browser, policy: str) -> None:
    name = f"large-{policy.lower()}"
    document = job(name, f"seq 1 {MANY}", workers=3)
    document["spec"]["runPolicy"] = {"cleanPodPolicy": policy}
    await browser.create(document)
    kept = 0 if policy == "All" else 3
    await browser.until(
        f"jobs/default/jaxjob/{name}",
        lambda found: found["summary"]["status"] == "Succeeded" and len(found["replicas"]) == kept,
    )
    lines, skipped, reason = await all_lines(browser, f"logs:default/jaxjob/{name}?tail=1000000")
    assert (len(lines), skipped, reason) == (3 * MANY, 0, "Finished")
    for index in range(3):
        assert texts(lines, f"worker-{index}") == [str(number) for number in range(1, MANY + 1)]
    times = [line["time"] for line in lines]
    assert times == sorted(times), "they are merged while they are read"
    found, _, _ = await all_lines(browser, f"logs:default/jaxjob/{name}?tail=10&q=^17$&regex=1")
    assert sorted((line["replica"], line["text"]) for line in found) == [(f"worker-{index}", "17") for index in range(3)]
    early = next(line for line in lines if line["replica"] == "worker-1" and line["text"] == "100")
    around, _, reason = await all_lines(browser, f"logs:default/jaxjob/{name}?at={early['time']}&tail=500")
    assert early in around
    assert reason == "Limited"
    await browser.call("DELETE", f"jobs/default/jaxjob/{name}")


async def test_a_search_in_a_running_job_finds_what_was_printed_long_before_and_what_is_printed_next(browser: Browser) -> None:
    script = f"echo needle 0; seq 1 {MANY}; number=0; while :; do number=$((number + 1)); echo needle $number; sleep 0.2; done"
    await browser.create(job("searched", script))
    await browser.until("jobs/default/jaxjob/searched/logs?q=needle", lambda found: found["matches"] > 2)
    found: list[str] = []
    async with browser.stream() as stream:
        await stream.subscribe("logs:default/jaxjob/searched?q=needle&tail=100")
        while len(found) < 10:
            found += texts((await stream.next("logs.snapshot", "logs.patch"))["data"]["lines"], "worker-0")
    assert found == [f"needle {number}" for number in range(len(found))]
    await browser.call("DELETE", "jobs/default/jaxjob/searched")

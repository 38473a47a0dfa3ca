"""What the page shows, from objects: status words, timelines, log lines, filters, patches."""

from __future__ import annotations

import datetime as dt
import itertools
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict

from traincrew import errors
from traincrew.console import origins
from traincrew.console.contract.job_detail import JobDetail
from traincrew.console.contract.jobs import JobSummary
from traincrew.console.view import (
    job_details,
    job_filters,
    job_patches,
    job_summaries,
    line_buffer,
    log_lines,
    pods,
    problems,
    requests,
    reruns,
    status_words,
    timeline,
)
from traincrew.inspection import explanation, observed_job
from traincrew.inspection.observed_job import ObservedJob
from traincrew.kinds import KINDS

KIND = next(kind for kind in KINDS if kind.kind == "PyTorchJob")
NOW = dt.datetime(2026, 11, 17, 12, tzinfo=dt.UTC)
LABELS = {
    "training.kubeflow.org/job-name": "j",
    "training.kubeflow.org/operator-name": "pytorchjob-controller",
    "training.kubeflow.org/replica-type": "worker",
}


def at(seconds: float) -> str:
    return (NOW + dt.timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def stored(*conditions: str, suspend: bool = False, workers: int = 2, **meta: Any) -> bytes:
    listed = [
        {"type": each, "status": "True", "reason": each, "message": "", "lastTransitionTime": at(-5)} for each in conditions
    ]
    container = {"name": "pytorch", "image": "x", "resources": {"requests": {"cpu": "500m"}, "limits": {"nvidia.com/gpu": 2}}}
    worker = {"replicas": workers, "template": {"spec": {"containers": [container]}}}
    document = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "j", "namespace": "n", "uid": "u", "creationTimestamp": at(-10), **meta},
        "spec": {"pytorchReplicaSpecs": {"Worker": worker}, "runPolicy": {"suspend": suspend}},
        "status": {"conditions": listed},
    }
    return json.dumps(document).encode()


def pod(index: int = 0, **status: Any) -> pods.ShownPod:
    labels = {**LABELS, "training.kubeflow.org/replica-index": str(index)}
    meta = {"name": f"j-worker-{index}", "namespace": "n", "uid": f"p{index}", "labels": labels, "creationTimestamp": at(-9)}
    spec = {"nodeName": status.pop("node", ""), "containers": [{"name": "pytorch", "image": "x"}]}
    return pods.decode(json.dumps({"metadata": meta, "spec": spec, "status": status}).encode())


def observed(raw: bytes, *found: pods.ShownPod) -> ObservedJob:
    return observed_job.observe(KIND, raw, found)


UNSCHEDULABLE: dict[str, Any] = {"conditions": [{"type": "PodScheduled", "status": "False", "message": "0/1 nodes"}]}


@pytest.mark.parametrize(
    ("raw", "found", "word"),
    [
        pytest.param(stored(), (), "Starting", id="new"),
        pytest.param(stored(creationTimestamp=at(-61)), (), "Unknown", id="seen by no operator for a minute"),
        pytest.param(stored("Created"), (), "Starting", id="created"),
        pytest.param(stored("Created"), (pod(**UNSCHEDULABLE), pod(1)), "Queued", id="no node for any pod"),
        pytest.param(stored("Created"), (pod(**UNSCHEDULABLE), pod(1, node="a")), "Starting", id="a node for one of them"),
        pytest.param(stored("Created", "Running"), (pod(),), "Running", id="running"),
        pytest.param(stored("Created", "Restarting"), (), "Restarting", id="restarting"),
        pytest.param(stored("Created", "Suspended", suspend=True), (), "Suspended", id="suspended"),
        pytest.param(stored(suspend=True, labels={"kueue.x-k8s.io/queue-name": "q"}), (), "Queued", id="in a queue"),
        pytest.param(stored("Created", "Suspended"), (), "Starting", id="resumed"),
        pytest.param(stored("Failed", suspend=True), (), "Failed", id="failed"),
        pytest.param(stored("Succeeded"), (), "Succeeded", id="succeeded"),
        pytest.param(stored("Running", deletionTimestamp=at(-1)), (), "Deleting", id="deleted"),
    ],
)
def test_the_status_word_of_a_job(raw: bytes, found: tuple[pods.ShownPod, ...], word: str) -> None:
    assert status_words.status(observed(raw, *found), NOW) == word


def test_a_job_that_waits_says_why_and_one_that_runs_does_not() -> None:
    waits = status_words.why(observed(stored("Created"), pod(**UNSCHEDULABLE)), NOW)
    assert waits is not None
    assert "0/1 nodes" in waits.message
    assert status_words.why(observed(stored("Succeeded")), NOW) is None
    assert status_words.why(observed(stored("Running", workers=1), pod(node="a", phase="Running")), NOW) is None


def test_the_requests_of_all_replicas_are_summed_and_limits_count_where_there_are_none() -> None:
    found = requests.of_job(observed(stored(workers=3)).job)
    assert found == {"cpu": "1500m", "nvidia.com/gpu": "6"}
    assert requests.devices(found) == {"nvidia.com/gpu": 6}


def ended(code: int) -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "reason": "Error", "startedAt": at(-7), "finishedAt": at(-3)}}


SCHEDULED = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": at(-8)}]


@pytest.mark.parametrize(
    ("found", "names", "open_end"),
    [
        pytest.param(pod(), ["Pending"], True, id="waits for a node"),
        pytest.param(pod(conditions=SCHEDULED), ["Pending", "Starting"], True, id="starts"),
        pytest.param(
            pod(conditions=SCHEDULED, containerStatuses=[{"name": "c", "state": {"running": {"startedAt": at(-7)}}}]),
            ["Pending", "Starting", "Running"], True, id="runs",
        ),
        pytest.param(
            pod(conditions=SCHEDULED, containerStatuses=[{"name": "c", "state": ended(1)}]),
            ["Pending", "Starting", "Running", "Failed"], False, id="has failed",
        ),
        pytest.param(
            pod(
                conditions=SCHEDULED,
                containerStatuses=[{"name": "c", "lastState": ended(1), "state": {"running": {"startedAt": at(-2)}}}],
            ),
            ["Pending", "Starting", "Running", "Failed", "Running"], True, id="runs again",
        ),
    ],
)  # fmt: skip
def test_the_phases_of_a_replica_follow_each_other_without_gaps(found: pods.ShownPod, names: list[str], open_end: bool) -> None:
    phases = timeline.phases(found)
    assert [each.name for each in phases] == names
    for before, after in itertools.pairwise(phases):
        assert before.end == after.start
        assert before.start <= before.end
    assert (phases[-1].end is None) is open_end


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("2026-11-17 12:00:00,1 ERROR root: no", "error"),
        ("E1117 12:00:00.0 1 file.cc:1] failed", "error"),
        ("torch.cuda.OutOfMemoryError: CUDA out of memory", "error"),
        ("Traceback (most recent call last):", "error"),
        ("/x.py:3: UserWarning: old", "warning"),
        ("\x1b[33mWARN\x1b[0m slow", "warning"),
        ("DEBUG:root:x", "debug"),
        ("[INFO] epoch 1", "info"),
        ("[W1117 12:00:00.0 1 file.cc:1] slow", "warning"),
        ("i1117 12:00:00.0 1 file.cc:1] runs", "info"),
        ("D1117 12:00:00.0 1 file.cc:1] called", "debug"),
        ("FATAL: no memory", "error"),
        ("kernel panic", "error"),
        ("a critical fault", "error"),
        ("an exception was raised", "error"),
        ("TRACE: called", "debug"),
        ("NOTICE: restarted", "info"),
        ("step 12 loss 0.3", ""),
        ("terror and informant", ""),
        ("x" * 300 + " ERROR", ""),
    ],
)
def test_the_level_of_a_line(text: str, level: str) -> None:
    assert log_lines.level(text) == level


def test_positions_of_lines_increase_and_are_read_again() -> None:
    numbers = log_lines.Numbering()
    found = [numbers.next(nanoseconds) for nanoseconds in (5, 5, 7, 0, 6, 10**18)]
    assert found == sorted(found)
    assert len(set(found)) == len(found)
    assert log_lines.parse_sequence(found[1]) == (5, 1)
    for text in ("", "5", "x-1", f"{'1' * 19}-00000\N{ARABIC-INDIC DIGIT ONE}"):
        assert log_lines.parse_sequence(text) is None


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 50)), max_size=60), st.integers(1, 5))
def test_lines_of_several_logs_are_merged_by_time_and_each_keeps_its_order(written: list[tuple[int, int]], parts: int) -> None:
    """However the lines arrive, as long as each log arrives in its own order."""
    numbers, buffer = [log_lines.Numbering() for _ in range(3)], line_buffer.LineBuffer()
    last = [0, 0, 0]
    for number, (source, step) in enumerate(written):
        last[source] += step // parts
        sequence = numbers[source].next(last[source])
        buffer.add(log_lines.message(log_lines.Source(f"w-{source}", "c"), sequence, last[source] or 1, str(number).encode()))
    buffer.sort()
    lines = buffer.take().lines
    assert [line.sequence[:19] for line in lines] == sorted(line.sequence[:19] for line in lines)
    for source in range(3):
        own = [int(line.text) for line in lines if line.replica == f"w-{source}"]
        assert own == sorted(own)
    assert len(lines) == len(written)


def test_lines_beyond_the_limit_are_counted_and_messages_stay_small() -> None:
    limits = line_buffer.BufferLimits(lines=10, message_characters=4)
    buffer, numbers = line_buffer.LineBuffer(limits), log_lines.Numbering()
    for number in range(1, 13):
        buffer.add(log_lines.message(log_lines.Source("w", "c"), numbers.next(number), number, b"ab"))
    first = buffer.take()
    assert (len(first.lines), first.skipped) == (2, 2)
    assert first.lines[0].sequence.startswith(f"{3:019d}")
    second = buffer.take()
    assert (len(second.lines), second.skipped, len(buffer)) == (2, 0, 6)


def summary(**changes: Any) -> JobSummary:
    return msgspec.structs.replace(job_summaries.summarize(KIND, observed(stored("Running")), NOW), **changes)


@pytest.mark.parametrize(
    ("parameters", "matches"),
    [
        ({}, True),
        ({"ns": "n,m", "kind": "PyTorchJob,tfjob", "status": "running"}, True),
        ({"ns": "m"}, False),
        ({"status": "failed,Queued"}, False),
        ({"status": "stalled"}, True),
        ({"q": "SLOW"}, True),
        ({"q": "fast"}, False),
        ({"label": "exp in (6,7),!x"}, True),
        ({"label": "exp=8"}, False),
        ({"since": "11s"}, True),
        ({"since": "9s"}, False),
        ({"colour": "red"}, True),
    ],
)
def test_the_filters_of_the_list(parameters: dict[str, str], matches: bool) -> None:
    found = summary(stalled="no output", description="Slow one", labels={"exp": "7"})
    assert job_filters.parse(parameters).matches(found, NOW) is matches


@pytest.mark.parametrize("parameters", [{"sort": "x"}, {"since": "x"}, {"since": "-1d"}, {"label": "=="}, {"limit": "-1"}])
def test_invalid_filters_are_reported(parameters: dict[str, str]) -> None:
    with pytest.raises(errors.SettingsError):
        job_filters.parse(parameters)


def test_the_list_is_sorted_and_counts_every_status_also_those_that_are_filtered() -> None:
    jobs = [summary(name="b"), summary(name="a", status="Failed"), summary(name="c", status="Failed", stalled="x")]
    found = job_filters.select(job_filters.parse({"status": "Failed", "sort": "name", "limit": "1"}), jobs, [], NOW)
    assert ([job.name for job in found.jobs], found.total) == (["a"], 2)
    assert found.counts == {"Running": 1, "Failed": 2, "Stalled": 1}


def detail(raw: bytes, *found: pods.ShownPod) -> JobDetail:
    rights = frozenset({"patch", "create", "delete"})
    objects = job_details.JobObjects(KIND, observed(raw, *found), found, explanation.Evidence(), rights, may_exec=True)
    return job_details.detail(objects, NOW)


def test_a_patch_has_only_what_changed() -> None:
    before = detail(stored("Running"), pod(0, node="a", phase="Running"), pod(1, node="a"))
    assert job_patches.diff(before, before) is None
    after = detail(stored("Running"), pod(0, node="a", phase="Running"), pod(1, node="a", phase="Running"))
    patch = job_patches.diff(before, after)
    assert patch is not None
    assert [each.name for each in patch.replicas] == ["worker-1"]
    assert (patch.removed_replicas, patch.roles, patch.conditions) == ([], None, None)
    fewer = job_patches.diff(after, detail(stored("Running", workers=1), pod(0, node="a", phase="Running")))
    assert fewer is not None
    assert fewer.removed_replicas == ["worker-1"]


def test_replicas_without_a_pod_are_shown_until_the_job_has_ended() -> None:
    assert [(each.name, each.state) for each in detail(stored("Created"), pod(1)).replicas] == [
        ("worker-0", "Missing"),
        ("worker-1", "Pending"),
    ]
    assert detail(stored("Succeeded")).replicas == []


FORBIDDEN = 'pods "x" is forbidden: User "ann" cannot get resource "pods/log" in API group "" in the namespace "team"'


def test_an_error_names_the_missing_right_and_the_next_step() -> None:
    found = problems.of(errors.Forbidden(FORBIDDEN, code=403), "read logs")
    assert found.missing_right is not None
    right = found.missing_right
    assert (right.user, right.verb, right.resource, right.subresource, right.namespace, right.name) == (
        "ann", "get", "pods", "log", "team", "x",
    )  # fmt: skip
    assert found.next_step == "Ask an administrator for the right to get pods/log in namespace team."
    assert problems.of(errors.Forbidden("exceeded quota", code=403), "x").missing_right is None
    unexpected = problems.of(RuntimeError("secret detail"), "x")
    assert (unexpected.code, "secret" in unexpected.message) == (500, False)


@pytest.mark.parametrize(
    ("name", "taken", "result"),
    [
        ("mnist", set(), "mnist-2"),
        ("mnist-2", set(), "mnist-3"),
        ("mnist", {"mnist-2", "mnist-3"}, "mnist-4"),
        ("x" * 63, set(), "x" * 61 + "-2"),
        ("run-2026111712", set(), "run-2026111712-2"),
    ],
)
def test_the_name_of_another_run(name: str, taken: set[str], result: str) -> None:
    assert reruns.next_name(name, taken) == result


@pytest.mark.parametrize(
    ("headers", "refused"),
    [
        ({"Host": "127.0.0.1:8470"}, False),
        ({"Host": "localhost:9", "Origin": "http://localhost:9", "Sec-Fetch-Site": "same-origin"}, False),
        ({"Host": "[::1]:8470", "Origin": "http://[::1]:8470"}, False),
        ({"Host": "127.0.0.1.attacker.example"}, True),
        ({"Host": "127.0.0.1:8470", "Origin": "https://127.0.0.1:8471"}, True),
        ({"Host": "127.0.0.1:8470", "Origin": ""}, True),
        ({}, True),
    ],
)
def test_only_the_own_page_and_programs_may_send_requests(headers: dict[str, str], refused: bool) -> None:
    assert bool(origins.objection(CIMultiDict(headers))) is refused

"""Rendering of jobs: tables, pages, reasons and remedies."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pytest
from tests.cluster import manifests

from traincrew.cli.render import description, tables
from traincrew.diagnosis.last_exception import LastException
from traincrew.diagnosis.replica_end import ReplicaEnd
from traincrew.inspection import advice, events, explanation, failures, observed_job, pod_waiting_reasons, waiting_advice
from traincrew.kinds import KINDS
from traincrew.model import objects
from traincrew.model.status import Failure

NOW = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
THEN = "2026-01-02T03:00:05Z"
PYTORCH = next(kind for kind in KINDS if kind.kind == "PyTorchJob")


def pod(name: str, phase: str = "Running", role: str = "worker", index: int = 0, **status: Any) -> objects.Pod:
    labels = {
        "training.kubeflow.org/job-name": "j", "training.kubeflow.org/operator-name": "pytorchjob-controller",
        "training.kubeflow.org/replica-type": role, "training.kubeflow.org/replica-index": str(index),
    }  # fmt: skip
    spec = {"nodeName": status.pop("node", "n")}
    metadata = {"name": name, "namespace": "ns", "uid": f"uid-{name}", "labels": labels, "creationTimestamp": THEN}
    return observed_job.decode_pod(
        json.dumps({"metadata": metadata, "spec": spec, "status": {"phase": phase, **status}}).encode()
    )


def observed(
    *pods: objects.Pod, suspend: bool = False, conditions: tuple[str, ...] = ("Created",), **status: Any
) -> observed_job.ObservedJob:
    document = manifests.job("PyTorchJob", Master=1, Worker=2, run={"suspend": suspend})
    document["metadata"] |= {"namespace": "ns", "creationTimestamp": THEN, "uid": "u"}
    listed = [{"type": each, "status": "True", "message": f"{each}!", "lastTransitionTime": THEN} for each in conditions]
    document["status"] = {"conditions": listed, "startTime": THEN, **status}
    return observed_job.observe(PYTORCH, json.dumps(document).encode(), pods)


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return {"containerStatuses": [{"name": "pytorch", "state": {"waiting": {"reason": reason, "message": message}}}]}


UNSCHEDULABLE: dict[str, Any] = {
    "conditions": [{"type": "PodScheduled", "status": "False", "message": "0/1 nodes are available"}],
    "node": "",
}
INIT: dict[str, Any] = {"initContainerStatuses": [{"name": "init-pytorch", "state": {"running": {"startedAt": THEN}}}]}


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (pod("j-worker-0"), ""),
        (pod("j-worker-0", "Succeeded"), ""),
        (pod("j-worker-0", "Pending", node=""), "waiting to be scheduled"),
        (pod("j-worker-0", "Pending", **UNSCHEDULABLE), "unschedulable: 0/1 nodes are available"),
        (pod("j-worker-0", "Pending", **waiting("ContainerCreating")), "creating containers"),
        (pod("j-worker-0", "Pending", **INIT), "init container init-pytorch is running"),
        (pod("j-worker-0", "Pending", **waiting("ErrImagePull", "no such image")), "ErrImagePull: no such image"),
        (pod("j-worker-0", "Running", **waiting("CrashLoopBackOff", "back-off 10s")), "CrashLoopBackOff: back-off 10s"),
    ],
)
def test_the_reason_why_a_pod_is_not_running(found: objects.Pod, word: str) -> None:
    assert pod_waiting_reasons.pod_reason(found) == word


def test_pods_with_the_same_reason_share_a_message() -> None:
    pods = (pod("j-master-0", role="master"), pod("j-worker-0", "Pending", node=""), pod("j-worker-1", "Pending", node=""))
    assert pod_waiting_reasons.job_reason(observed(*pods)) == "1 of 3 running; worker-0, worker-1: waiting to be scheduled"


def test_a_job_whose_pods_all_run_has_no_waiting_reason() -> None:
    pods = (pod("j-master-0", role="master"), pod("j-worker-0"), pod("j-worker-1", index=1))
    assert pod_waiting_reasons.job_reason(observed(*pods, conditions=("Created", "Running"))) == ""


def test_the_reason_of_the_operator_comes_first() -> None:
    message = observed(why={"reason": "QuotaExceeded", "message": "Pod j-worker-0 cannot be created: exceeded quota"})
    assert pod_waiting_reasons.job_reason(message) == "Pod j-worker-0 cannot be created: exceeded quota"


def test_a_suspended_job_says_how_to_resume_it() -> None:
    assert "traincrew resume pytorchjob/j" in pod_waiting_reasons.job_reason(observed(suspend=True))


@pytest.mark.parametrize(
    ("conditions", "failure", "code"),
    [
        (("Succeeded",), None, 0),
        (("Failed",), {"exitCode": 3}, 3),
        (("Failed",), {"exitCode": 137, "reason": "OOMKilled"}, 137),
        (("Failed",), {"exitCode": 137, "disruption": True}, 1),
        (("Failed",), {}, 1),
        (("Failed",), None, 1),
    ],
)
def test_the_exit_code_is_that_of_the_failure_that_ended_the_job(conditions: tuple[str, ...], failure: Any, code: int) -> None:
    assert observed_job.exit_code(observed(conditions=conditions, **({"failure": failure} if failure else {})).job.status) == code


def test_a_retried_failure_does_not_change_the_exit_code_of_a_success() -> None:
    assert observed_job.exit_code(observed(conditions=("Succeeded",), failure={"exitCode": 9}).job.status) == 0


def test_pods_of_another_kind_with_the_same_name_are_not_shown() -> None:
    stranger = pod("j-worker-0")
    stranger.metadata.labels["training.kubeflow.org/operator-name"] = "tfjob-controller"
    assert observed(stranger).pods == ()


def test_replicas_are_sorted_by_role_and_index() -> None:
    pods = [pod(f"j-worker-{index}", index=index) for index in (10, 2, 1)] + [pod("j-master-0", role="master")]
    assert [each.name for each in observed(*pods).pods] == ["j-master-0", "j-worker-1", "j-worker-2", "j-worker-10"]


@pytest.mark.parametrize(
    ("replica", "wanted", "answer"),
    [("worker-1", "worker-1", True), ("worker-10", "worker-1", False), ("worker-1", "worker", True),
     ("launcher", "Launcher", True), ("launcher-x7k2p", "launcher", True), ("master-0", "worker", False)],
)  # fmt: skip
def test_a_replica_is_selected_by_name_or_role(replica: str, wanted: str, answer: bool) -> None:
    assert observed_job.matches(replica, wanted) is answer


def failed(**failure: Any) -> explanation.Explanation:
    record = {"replica": "Worker 1", "pod": "j-worker-1", "node": "n", "exitCode": 1, "message": "", "time": THEN, **failure}
    return explanation.explain(observed(conditions=("Failed",), failure=record, endedBy="Replica"), explanation.Evidence(), NOW)


def test_why_shows_the_first_failure_and_further_commands() -> None:
    found = failed(message="ModuleNotFoundError: No module named 'torch'\n")
    cause = "ModuleNotFoundError: No module named 'torch'"
    assert found.causes == (f"Worker 1 (pod j-worker-1) exited with code 1 on node n at 2026-01-02 03:00:05 UTC: {cause}",)
    assert any("Install torch" in remedy for remedy in found.remedies)
    assert found.evidence == (cause,)
    assert "traincrew logs pytorchjob/j --replica worker-1" in found.commands


def test_why_refers_to_the_previous_log_of_a_restarted_container() -> None:
    again = pod("j-worker-1", index=1, containerStatuses=[{"name": "pytorch", "restartCount": 1}])
    record = {"replica": "Worker 1", "pod": "j-worker-1", "exitCode": 1}
    found = explanation.explain(observed(again, conditions=("Running",), failure=record), explanation.Evidence(), NOW)
    assert "traincrew logs pytorchjob/j --replica worker-1 --previous" in found.commands


def test_the_remedy_for_a_missing_file_names_the_file_before_its_mount() -> None:
    (remedy,) = failed(message="python: can't open file 'nosuch.py': [Errno 2] No such file or directory").remedies
    assert remedy.index("nosuch.py exists") < remedy.index("directory is mounted")


def test_why_groups_replicas_with_the_same_reason() -> None:
    pods = [pod(f"j-worker-{index}", "Pending", index=index, **UNSCHEDULABLE) for index in range(6)]
    said = tuple(event(type="Warning", reason="FailedScheduling", message="0/1 nodes", pod=each.name) for each in pods)
    known = {"reason": "QuotaExceeded", "message": "Pod j-worker-6 cannot be created: exceeded quota", "since": THEN}
    found = explanation.explain(observed(*pods, why=known), explanation.Evidence(said), NOW)
    six = "(worker-0, worker-1, worker-2 and 3 more)"
    assert found.pods == (f"6 replicas {six}: unschedulable: 0/1 nodes are available",)
    (line,) = found.warnings
    assert line == f"4m ago, 6 pods {six.replace('worker', 'j-worker')}: FailedScheduling: 0/1 nodes"


def test_why_says_the_message_of_the_scheduler_once() -> None:
    nodes = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
    again = "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    whole = f"pod j-worker-0 cannot be scheduled: {nodes} {again} Declare some."
    said = (
        event(type="Warning", reason="Unschedulable", message=whole, involvedObject={"kind": "PyTorchJob", "name": "j"}),
        event(type="Warning", reason="FailedScheduling", message=f"{nodes} {again} Declare some."),
    )
    known = {"reason": "Unschedulable", "message": whole, "since": THEN}
    pending = pod("j-worker-0", "Pending", **UNSCHEDULABLE)
    found = explanation.explain(observed(pending, why=known), explanation.Evidence(said), NOW)
    assert explanation.text(found).count(nodes) == 1
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("output", "remedies"),
    [
        ("sshd: no hostkeys available -- exiting.", ["Generate SSH host keys, which the image does not have"]),
        ("step 5", ["Check its log: `traincrew logs pytorchjob/j`. A restartPolicy other than Never", "Check the log"]),
    ],
)
def test_a_replica_that_would_fail_again_is_not_restarted_as_a_remedy(output: str, remedies: list[str]) -> None:
    failure = {"replica": "Worker 1", "pod": "j-worker-1", "exitCode": 1, "message": output}
    waits = {"reason": "ReplicaFailed", "message": "pod j-worker-1 failed and is not restarted", "since": THEN}
    found = explanation.explain(observed(conditions=("Created",), failure=failure, why=waits), explanation.Evidence(), NOW)
    assert [remedy.startswith(start) for remedy, start in zip(found.remedies, remedies, strict=True)] == [True] * len(remedies)


def test_why_names_the_environment_that_lacks_a_module() -> None:
    words = 'Image "a/b:1" is not pulled. The container uses the default environment /opt/env. The image has no mapping. Run `x`.'
    pulled = event(type="Normal", reason="Pulled", message=words, involvedObject={"kind": "Pod", "name": "j-worker-1"})
    failure = {
        "replica": "Worker 1",
        "pod": "j-worker-1",
        "exitCode": 1,
        "message": "ModuleNotFoundError: No module named 'torch'",
    }
    one = observed(conditions=("Failed",), failure=failure)
    remedy, mapping = explanation.explain(one, explanation.Evidence((pulled,)), NOW).remedies
    assert mapping == "Run `traincrew image set a/b:1 --env-dir DIR` to run image a/b:1 in another environment."
    assert remedy.startswith("Install torch in /opt/env, the environment of image a/b:1 (`/opt/env/bin/python -m pip install ")
    assert "`traincrew image set a/b:1 --env-dir DIR`" in remedy
    own = 'Image "traincrew.local/default" is not pulled. The container uses the environment /e.'
    words = advice.environment(advice.RuntimeEnvironment(own))
    assert ("traincrew.local" in words, "--env-dir DIR" in words) == (False, True)
    other = advice.environment(advice.RuntimeEnvironment(own, install="uv pip install --python /e/bin/python PACKAGE"))
    assert other.startswith("/e (`uv pip install --python /e/bin/python PACKAGE`), or ")
    (remedy,) = explanation.explain(one, explanation.Evidence(), NOW).remedies
    assert remedy == "Install torch in the environment of the image, or use another image."


def test_why_suggests_the_gloo_backend() -> None:
    found = failed(message="RuntimeError: Distributed package doesn't have MPI built in. MPI is only included if you build it.\n")
    assert any("Use the gloo backend, or an image whose PyTorch was built with MPI." in remedy for remedy in found.remedies)


VICTIM = "RuntimeError: [gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.7]:4711"


def test_why_diagnoses_the_logs_of_all_replicas() -> None:
    """The status has only the end of the output of one replica."""
    record = {"replica": "Master 0", "pod": "j-master-0", "exitCode": 1, "message": VICTIM, "cause": VICTIM}
    ends = (
        ReplicaEnd("Master 0", f"Traceback (most recent call last):\n{VICTIM}", 1),
        ReplicaEnd("Worker 0", f"Traceback (most recent call last):\n{VICTIM}", 1),
        ReplicaEnd("Worker 1", 'Traceback (most recent call last):\n  File "/w/a.py", line 3, in f\nKeyError: 7', 1),
    )
    job = observed(conditions=("Failed",), failure=record, endedBy="Replica")
    found = explanation.explain(job, explanation.Evidence(ends=ends), NOW)
    assert found.causes[0] == "Worker 1 failed first: KeyError: 7"
    assert found.causes[1].startswith("then Master 0 (pod j-master-0) exited with code 1")
    assert found.causes[2] == "Worker 0 failed because of it"
    assert found.evidence == ('File "/w/a.py", line 3, in f', "KeyError: 7")
    assert found.remedies == ("Check line 3 of /w/a.py.",)
    assert failures.summary(job, ends) == "Worker 1 failed: KeyError: 7"


def test_out_of_memory_names_the_container_and_its_limit_also_when_only_the_record_is_left() -> None:
    cause = "out of memory: container pytorch used all of its memory limit of 300Mi"
    record = {"replica": "Worker 0", "pod": "j-worker-0", "container": "pytorch", "exitCode": 137, "reason": "OOMKilled"}
    killed = observed(conditions=("Failed",), failure={**record, "cause": cause, "message": "step 7"}, endedBy="Replica")
    (found,) = explanation.explain(killed, explanation.Evidence(), NOW).causes
    assert found.endswith(f"exited with code 137 (OOMKilled): {cause}")


def test_why_and_ls_say_the_message_of_the_scheduler_once_and_without_the_part_about_preemption() -> None:
    scheduler = (
        "0/1 nodes are available: 1 Insufficient nvidia.com/gpu. preemption: 0/1 nodes are available: 1 No preemption victims "
        "found for incoming pod. This machine has no nvidia.com/gpu. To declare some, start the cluster with `traincrew up "
        "--device nvidia.com/gpu=N`."
    )
    condition = [{"type": "PodScheduled", "status": "False", "message": scheduler}]
    pods = [pod(f"j-worker-{index}", "Pending", index=index, conditions=condition, node="") for index in range(2)]
    why = {"reason": "Unschedulable", "message": f"pod j-worker-0 cannot be scheduled: {scheduler}", "since": THEN}
    job = observed(*pods, why=why)
    for page in (explanation.text(explanation.explain(job, explanation.Evidence(), NOW)), tables.jobs([job], NOW)):
        assert page.count("Insufficient nvidia.com/gpu") == 1
        assert page.count("traincrew up --device") == 1
        assert "preemption" not in page


def test_why_does_not_repeat_the_condition_of_a_failed_job_as_a_warning() -> None:
    said = event(type="Warning", reason="PyTorchJobFailed", message="Failed!")
    record = {"replica": "Worker 0", "pod": "j-worker-0", "exitCode": 1, "message": "KeyError: 7"}
    job = observed(conditions=("Failed",), failure=record, endedBy="Replica")
    assert explanation.explain(job, explanation.Evidence((said,)), NOW).warnings == ()


def test_why_names_a_running_replica_whose_last_output_is_an_exception() -> None:
    exception = LastException("ValueError: bad data", ('File "/w/a.py", line 3, in f', "ValueError: bad data"))
    unfinished = explanation.UnfinishedReplica("worker-1", NOW - dt.timedelta(seconds=24), exception)
    pods = (pod("j-master-0", role="master"), pod("j-worker-0"), pod("j-worker-1", index=1))
    job = observed(*pods, conditions=("Created", "Running"))
    found = explanation.explain(job, explanation.Evidence(unfinished=(unfinished,)), NOW)
    assert found.causes == ("worker-1 printed an exception 24s ago and has not exited: ValueError: bad data",)
    assert found.evidence == exception.evidence
    assert "traincrew stacks pytorchjob/j" in found.remedies[0]
    assert found.causes[0] in description.describe(job, explanation.Evidence(unfinished=(unfinished,)), NOW)


def test_why_says_what_happened_the_evidence_and_what_to_do_in_this_order() -> None:
    page = explanation.text(failed(message="ModuleNotFoundError: No module named 'torch'"))
    titles = [line for line in page.splitlines() if line and not line.startswith(" ")][1:]
    assert titles == ["what happened", "evidence", "what to do", "see also"]


def test_why_names_the_failure_that_ended_the_job_and_the_one_that_was_retried() -> None:
    first = {"replica": "Worker 0", "pod": "j-worker-0", "exitCode": 137, "time": "2026-01-02T02:00:00Z"}
    last = {"replica": "Worker 1", "pod": "j-worker-1", "exitCode": 1, "time": THEN, "message": "KeyError: 7"}
    job = observed(conditions=("Failed",), failure=first, lastFailure=last, endedBy="Replica")
    found = explanation.explain(job, explanation.Evidence(), NOW)
    assert found.causes[0].startswith("first failure: Worker 0 (pod j-worker-0) exited with code 137")
    assert found.causes[1].startswith("Worker 1 (pod j-worker-1) exited with code 1")
    assert observed_job.exit_code(job.job.status) == 1


@pytest.mark.parametrize(
    ("terminated", "end"),
    [
        ({"exitCode": 7}, "exited with code 7"),
        ({"exitCode": 137, "reason": "OOMKilled"}, "was killed because it ran out of memory"),
    ],
)
def test_a_failure_after_the_success_is_named_with_the_rule(terminated: dict[str, object], end: str) -> None:
    late = pod("j-worker-0", "Failed", containerStatuses=[{"name": "pytorch", "state": {"terminated": terminated}}])
    found = explanation.explain(observed(late, conditions=("Succeeded",)), explanation.Evidence(), NOW)
    assert found.causes == ("the job succeeded", f"worker-0 {end}; the job succeeded because the Master decides")


def test_a_signal_after_the_success_is_that_of_the_clean_up() -> None:
    late = pod("j-worker-0", "Failed", containerStatuses=[{"name": "pytorch", "state": {"terminated": {"exitCode": 143}}}])
    found = explanation.explain(observed(late, conditions=("Succeeded",)), explanation.Evidence(), NOW)
    assert found.causes == ("the job succeeded",)


def test_why_names_the_replicas_of_a_succeeded_job_that_never_started() -> None:
    ended, waiting = pod("j-worker-0", "Succeeded"), pod("j-worker-1", "Pending", index=1)
    found = explanation.explain(observed(ended, waiting, conditions=("Succeeded",)), explanation.Evidence(), NOW)
    assert found.causes == ("the job succeeded", "worker-1 never started")


def test_the_restarts_of_a_finished_job_are_those_of_its_status() -> None:
    again = pod("j-worker-1", index=1, containerStatuses=[{"name": "pytorch", "restartCount": 2}])
    ended = observed(again, conditions=("Failed",), restarts={"charged": 3})
    assert tables.restarts(ended) == 3
    assert tables.restarts(observed(again, conditions=("Running",), restarts={"charged": 3})) == 5


@pytest.mark.parametrize(
    ("failure", "word"),
    [({"exitCode": 137, "reason": "OOMKilled"}, "Raise resources.limits.memory"), ({"exitCode": 127}, "was not found"),
     ({"exitCode": 139}, "native libraries"), ({"exitCode": 137, "disruption": True}, "disruption")],
)  # fmt: skip
def test_why_has_a_remedy_for_exit_codes(failure: dict[str, Any], word: str) -> None:
    assert any(word in remedy for remedy in failed(**failure).remedies)


@pytest.mark.parametrize(
    ("reason", "message", "word"),
    [("Unschedulable", "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.", "--device"),
     ("Unschedulable", "0/1 nodes are available: 1 Insufficient memory.", "--overcommit memory"),
     ("ErrImagePull", "", "traincrew image set"),
     ("ImagePullBackOff", "container wait-for-workers of pod j-launcher: Back-off pulling image", "--init-image"),
     ("CrashLoopBackOff", "", "traincrew logs pytorchjob/j --previous"),
     ("QuotaExceeded", "", "quota"), ("Whatever", "new", "traincrew describe pytorchjob/j")],
)  # fmt: skip
def test_waiting_reasons_have_remedies(reason: str, message: str, word: str) -> None:
    assert word in waiting_advice.on_waiting(reason, message, "pytorchjob/j")


def test_a_running_job_has_no_problem() -> None:
    pods = (pod("j-master-0", role="master"), pod("j-worker-0"), pod("j-worker-1", index=1))
    found = explanation.explain(observed(*pods, conditions=("Created", "Running")), explanation.Evidence(), NOW)
    assert found.causes == ("the job is running; no problem found",)
    assert explanation.text(found).startswith("PyTorchJob ns/j: Running for 4m")


def event(**fields: Any) -> events.ListedEvent:
    about = {"kind": "Pod", "name": fields.pop("pod", "j-worker-0")}
    return events.decode(json.dumps({"involvedObject": about, "lastTimestamp": THEN, **fields}).encode())


def test_why_and_describe_show_events() -> None:
    said = (event(type="Warning", reason="FailedScheduling", message="0/1 nodes"), event(reason="Scheduled", message="ok"))
    evidence = explanation.Evidence(said)
    assert explanation.explain(observed(), evidence, NOW).warnings == ("4m ago, pod j-worker-0: FailedScheduling: 0/1 nodes",)
    page = description.describe(observed(pod("j-worker-0")), evidence, NOW)
    for word in ("Scheduled", "FailedScheduling", "j-worker-0", "Master", "OnFailure", "train:1"):
        assert word in page


def test_events_of_both_apis_have_a_time_and_a_count() -> None:
    by_series = event(lastTimestamp=None, eventTime=THEN, series={"count": 5, "lastObservedTime": "2026-01-02T03:03:05.000000Z"})
    assert (by_series.times, by_series.time) == (5, dt.datetime(2026, 1, 2, 3, 3, 5, tzinfo=dt.UTC))
    assert [each.reason for each in events.in_order([by_series, event(reason="first")])] == ["first", ""]


def test_the_table_of_jobs_has_state_counts_and_reason() -> None:
    one = observed(
        conditions=("Failed",), failure={"replica": "Worker 1", "exitCode": 3}, replicaStatuses={"Worker": {"active": 2}}
    )
    text = tables.jobs([one], NOW, namespaces=True)
    assert text.splitlines()[0].split() == ["NAMESPACE", "KIND", "NAME", "STATE", "RUNNING", "RESTARTS", "AGE", "DURATION", "WHY"]
    assert text.splitlines()[1].split()[:6] == ["ns", "PyTorchJob", "j", "Failed", "2/3", "0"]
    assert text.endswith("Worker 1 failed with exit code 3")


def test_a_reason_that_does_not_fit_is_printed_below_its_job() -> None:
    message = f"container pytorch of pod j-master-0: back-off 10s {'x ' * 200}the end"
    looping = observed(conditions=("Running",), why={"reason": "CrashLoopBackOff", "message": message, "since": THEN})
    (line,) = tables.jobs([looping], NOW).splitlines()[1:]
    assert f"CrashLoopBackOff: {message}" in line
    head, row, *below = tables.jobs([looping], NOW, columns=80).splitlines()
    assert "WHY" not in head
    assert row.split()[:3] == ["PyTorchJob", "j", "Running"]
    assert below[0].startswith("    CrashLoopBackOff: container pytorch of pod j-master-0: back-off 10s x")
    assert len(below) == tables.REASON_LINES
    assert below[-1].endswith(" …")
    assert all(len(each) <= 80 for each in (head, row, *below))


def test_the_reason_of_a_failure_is_not_repeated_before_its_message() -> None:
    message = "Worker 0 failed with exit code 137 (OOMKilled): out of memory"
    killed = observed(conditions=("Failed",), why={"reason": "OOMKilled", "message": message, "since": THEN})
    assert tables.jobs([killed], NOW).splitlines()[1].split("   ")[-1].strip() == message


@pytest.mark.parametrize(("ended", "message"), [("2026-01-02T03:03:05Z", True), ("2026-01-02T01:00:00Z", False)])
def test_the_table_shows_a_recent_restart_after_a_failure(ended: str, message: bool) -> None:
    last = {"terminated": {"exitCode": 3, "finishedAt": ended}}
    status = {"name": "pytorch", "restartCount": 2, "state": {"running": {"startedAt": THEN}}, "lastState": last}
    crashing = observed(pod("j-worker-1", index=1, containerStatuses=[status]), conditions=("Running",))
    assert ("worker-1 restarted after exit code 3" in tables.jobs([crashing], NOW)) is message


def test_the_remedy_says_that_a_disruption_is_not_a_failure() -> None:
    lost = Failure(replica="Worker 0", disruption=True, exit_code=137)
    assert "does not count as a failure" in advice.on_failure(lost, None)


def test_a_job_that_cannot_be_read_completely_is_shown() -> None:
    found = observed(
        completionTime="0000-01-01T00:00:00Z",
        why={"reason": "Unschedulable", "message": "Unschedulable", "since": "0000-01-01T00:00:00Z"},
    )
    assert found.state == "Created"
    assert "Unschedulable" in tables.jobs([found], NOW)


def out_of_memory(replica: str, ended: str) -> ReplicaEnd:
    return ReplicaEnd(replica, "start", 137, "OOMKilled", dt.datetime.fromisoformat(ended), "pytorch", "1Gi")


@pytest.mark.parametrize("replica", ["Master 0", "Worker 1"])
def test_of_equal_failures_every_command_names_the_one_in_the_status(replica: str) -> None:
    ends = [out_of_memory(each, THEN) for each in ("Master 0", "Worker 0", "Worker 1")]
    recorded = {"replica": replica, "exitCode": 137, "reason": "OOMKilled", "cause": "out of memory", "time": THEN}
    job = observed(conditions=("Failed",), failure=recorded, endedBy="Replica")
    for known in (ends, ends[1:2], ()):
        found = failures.diagnose(job, known)
        assert found is not None
        assert found.replica == replica
        assert failures.summary(job, known).startswith(f"{replica} failed with exit code 137 (OOMKilled): out of memory")
        assert tables.jobs([job], NOW).splitlines()[1].endswith(f"{replica} failed with exit code 137 (OOMKilled): out of memory")


def test_a_cause_in_the_logs_is_preferred_to_the_consequence_in_the_status() -> None:
    ends = [
        ReplicaEnd("Worker 0", "", 143, "Error", dt.datetime.fromisoformat(THEN)),
        ReplicaEnd("Worker 1", "ValueError: bad shape", 1, "Error", dt.datetime.fromisoformat(THEN)),
    ]
    job = observed(conditions=("Failed",), failure={"replica": "Worker 0", "exitCode": 143, "time": THEN}, endedBy="Replica")
    found = failures.diagnose(job, ends)
    assert found is not None
    assert found.replica == "Worker 1"


def test_the_last_line_of_a_plain_exit_code_is_not_shown_as_its_cause() -> None:
    end = ReplicaEnd("Master 0", "epoch 3 loss 0.3\nepoch 4 loss 0.2\n", 3, "Error")
    recorded = {"replica": "Master 0", "exitCode": 3, "reason": "Error", "message": end.output}
    job = observed(conditions=("Failed",), failure=recorded, endedBy="Replica")
    sentence = 'Master 0 failed with exit code 3: its last line was "epoch 4 loss 0.2"'
    assert failures.summary(job, [end]) == sentence
    assert tables.jobs([job], NOW).splitlines()[1].endswith(sentence)
    assert failures.explain(job, [end]).causes[-1].endswith('exited with code 3: its last line was "epoch 4 loss 0.2"')


UNMAPPED = (
    'Image "team/train:3" is not pulled. The container uses the default environment /opt/env. The image has no mapping. '
    "Run `traincrew image set team/train:3 --env-dir DIR` to map it."
)


@pytest.mark.parametrize("state", ["Succeeded", "Running", "Failed"])
def test_an_image_without_a_mapping_is_said_with_the_command_that_maps_it(state: str) -> None:
    pulled = event(type="Normal", reason="Pulled", message=UNMAPPED, involvedObject={"kind": "Pod", "name": "j-worker-1"})
    job, evidence = observed(pod("j-worker-1"), conditions=(state,)), explanation.Evidence((pulled, pulled))
    line = "image team/train:3 has no mapping: its containers run in the default environment, /opt/env"
    found = explanation.explain(job, evidence, NOW)
    assert found.warnings == (line,)
    assert "Run `traincrew image set team/train:3 --env-dir DIR` to run image team/train:3" in found.remedies[-1]
    assert line in description.describe(job, evidence, NOW)
    mapped = event(type="Normal", reason="Pulled", message=UNMAPPED.partition(" The image")[0], pod="j-worker-1")
    assert explanation.explain(job, explanation.Evidence((mapped,)), NOW).warnings == ()


def test_an_event_that_the_operator_has_repeated_with_a_suggestion_is_said_once() -> None:
    words = 'strict decoding error: unknown field "spec.containers[0].resorces"'
    why = {"reason": "FailedCreatePod", "message": f"Pod j-worker-0 cannot be created: {words} (did you mean 'resources'?)"}
    failed = event(type="Warning", reason="FailedCreatePod", message=f"Error creating: {words}")
    found = explanation.explain(observed(why={**why, "since": THEN}), explanation.Evidence((failed,)), NOW)
    assert (words in found.causes[0], found.warnings) == (True, ())

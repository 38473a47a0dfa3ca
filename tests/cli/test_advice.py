"""Every reason that a job can have says what to do."""

from __future__ import annotations

import ast
import inspect
import pathlib
import re
from collections.abc import Iterator

import pytest

import traincrew
from traincrew.diagnosis import exit_codes
from traincrew.diagnosis.recognizers import RECOGNIZERS
from traincrew.diagnosis.replica_end import ReplicaEnd
from traincrew.embedded.kubelet.images import environment_access
from traincrew.embedded.kubelet.images.environment import Environment
from traincrew.inspection import scaling_advice, waiting_advice
from traincrew.model import elastic_allocation, resources
from traincrew.planner import elastic_members, failure_summary

JOB = "pytorchjob/j"
GENERAL = waiting_advice.on_waiting("NoSuchReason", "", JOB)
SOURCE = pathlib.Path(traincrew.__file__).parent
POSITIONS = {"WaitingReason": 0, "with_since": 1, "status_only": 1}
"""Calls that set the reason of a job, and the position of the reason among their arguments."""
LIMITS = ("ScalingLimit", "FailedScaleUp")
"""Calls with the reason why an elastic job does not have more workers."""
SHAPE = re.compile(r"(?:Err|Failed|Invalid)[A-Z]\w+|[A-Z]\w*(?:Error|BackOff|Failed|Unavailable|Schedulable|Gated|schedulable)")
"""How Kubernetes names reasons of pods that do not start."""
NO_WAITING = {
    "FallbackToLogsOnError",  # a terminationMessagePolicy
    "FailedPrecondition",  # a status code of gRPC
    "InternalError",  # of a response of the kubelet's server
    "InvalidArgument",  # a status code of gRPC
    "PodFailed",  # of a condition of an ended pod
    "UnexpectedAdmissionError",  # of a failed pod, which is a disruption
}
KUBERNETES = (
    "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed", "FailedAttachVolume",
    "FailedMapVolume", "NetworkNotReady", "SchedulingGated", "Unhealthy",
)  # fmt: skip
"""Reasons of kubelets, controllers and schedulers of other clusters that the embedded cluster does not use."""


def parsed(folder: str) -> Iterator[ast.Module]:
    files = sorted((SOURCE / folder).rglob("*.py"))
    assert files, folder
    return (ast.parse(file.read_text()) for file in files)


def constants() -> dict[str, str]:
    """The strings that modules of the planner name."""
    found: dict[str, str] = {}
    for module in parsed("planner"):
        for node in module.body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
                found |= {target.id: node.value.value for target in node.targets if isinstance(target, ast.Name)}
    return found


def reasons_in_the_planner() -> set[str]:
    """The reasons in every call that sets the reason of a job, and those of failed and rejected requests."""
    named, found = constants(), set[str]()
    for module in parsed("planner"):
        for node in ast.walk(module):
            setter = getattr(node.func, "id", getattr(node.func, "attr", "")) if isinstance(node, ast.Call) else ""
            if not isinstance(node, ast.Call) or setter not in POSITIONS or len(node.args) <= POSITIONS[setter]:
                continue
            reason = node.args[POSITIONS[setter]]
            if isinstance(reason, ast.Constant) and isinstance(reason.value, str):
                found.add(reason.value)
            elif (name := getattr(reason, "id", getattr(reason, "attr", ""))) in named:
                found.add(named[name])
    rejected = {f"FailedCreate{resource.kind}" for resource in written()}
    found |= rejected | {*failure_summary.ENDINGS.values(), failure_summary.REPLICA, "QuotaExceeded"}
    return found - reasons_of_the_status_of_elastic_jobs()


def reasons_of_elastic_jobs() -> set[str]:
    """Why they do not have more workers, from every place that decides it, and why workers leave."""
    found = reasons_of_the_status_of_elastic_jobs()
    for module in (*parsed("sharing"), ast.parse((SOURCE / "operator" / "sharing_snapshot.py").read_text())):
        for node in ast.walk(module):
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in LIMITS and node.args:
                found |= strings(node.args[0])
            elif isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) and len(node.value.elts) == 2:
                found |= strings(node.value.elts[0])
    removals = {
        each for each in vars(elastic_allocation).values() if isinstance(each, str) and re.fullmatch(r"[A-Z][A-Za-z]+", each)
    }
    return found | removals - {elastic_allocation.GREW}


def reasons_of_the_status_of_elastic_jobs() -> set[str]:
    """Those that the planner sets in status.elastic itself."""
    tree = ast.parse(inspect.getsource(elastic_members))
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "with_since")
    names = (node.args[POSITIONS["with_since"]] for node in calls)
    return {getattr(elastic_members, name.id) for name in names if isinstance(name, ast.Name)}


def strings(value: ast.expr) -> set[str]:
    """The reasons in an expression such as `reason or "Autoscaler"`."""
    values = (node.value for node in ast.walk(value) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return {each for each in values if each}


def written() -> list[resources.Resource]:
    return [each for each in vars(resources).values() if isinstance(each, resources.Resource)]


def reasons_in_the_embedded_cluster() -> set[str]:
    """Every string of kubelet and scheduler with the shape of a reason, without the names of classes."""
    modules = [*parsed("embedded/kubelet"), *parsed("embedded/scheduler")]
    nodes = [node for module in modules for node in ast.walk(module)]
    classes = {node.name for node in nodes if isinstance(node, ast.ClassDef)} - {"CreateContainerError", "StartError"}
    words = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return {word for word in words if SHAPE.fullmatch(word)} - classes - NO_WAITING


def test_the_reasons_of_planner_kubelet_and_scheduler_are_found() -> None:
    assert {
        "NodeUnreachable", "NodeMayBeLost", "StuckTerminating", "NothingToRun", "WaitingForGang", "PodsStillRunning",
        "NoHostPorts", "InvalidSpec", "FailedCreatePod",
    } <= reasons_in_the_planner()  # fmt: skip
    assert {
        "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "FailedCreatePodSandBox", "FailedMount",
        "PostStartHookError", "CrashLoopBackOff", "InvalidImageName", "FailedScheduling", "SchedulerError", "Unschedulable",
    } <= reasons_in_the_embedded_cluster()  # fmt: skip


@pytest.mark.parametrize("reason", sorted({*reasons_in_the_planner(), *reasons_in_the_embedded_cluster(), *KUBERNETES}))
def test_every_reason_of_a_job_has_a_remedy_of_its_own(reason: str) -> None:
    remedy = waiting_advice.on_waiting(reason, "", JOB)
    assert remedy.endswith(".")
    assert "{" not in remedy
    assert remedy != GENERAL


def test_the_reasons_of_elastic_jobs_are_found() -> None:
    assert {
        "AtMaximum", "NoRoom", "Headroom", "Quota", "Rejected", "Settling", "Starting", "Yielding", "Noticed", "CoolingDown",
        "Unprofitable", "Autoscaler", "Queue", "NothingAsked", "NotShared", "GaveBack", "EvenedOut",
    } <= reasons_of_elastic_jobs()  # fmt: skip


@pytest.mark.parametrize("reason", sorted(reasons_of_elastic_jobs()))
def test_every_reason_of_an_elastic_job_has_a_remedy_of_its_own(reason: str) -> None:
    remedy = scaling_advice.on_scaling(reason, "", JOB)
    assert remedy.endswith(".")
    assert "{" not in remedy
    assert remedy != GENERAL


def test_no_remedy_is_for_a_reason_that_elastic_jobs_do_not_have() -> None:
    assert set(scaling_advice.BY_REASON) <= reasons_of_elastic_jobs()


def test_a_closed_directory_is_opened(tmp_path: pathlib.Path) -> None:
    program = tmp_path / "home" / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.touch()
    (tmp_path / "home").chmod(0o700)
    environment = Environment(path=(str(program.parent),), source="the environment of the caller")
    message = environment_access.closed_directory(environment, "python", 4711, ())
    assert message is not None
    remedy = waiting_advice.on_waiting("CreateContainerConfigError", f"container pytorch of pod j-master-0: {message}", JOB)
    assert remedy.startswith("Run `chmod o+x /")
    assert "ConfigMap" not in remedy


@pytest.mark.parametrize(
    ("reason", "message", "word"),
    [("FailedCreatePodSandBox", "Failed to create pod sandbox: no network", "traincrew doctor"),
     ("FailedCreatePod", "Pod j-master-0 cannot be created: no", "message of the API server"),
     ("FailedCreatePod", 'strict decoding error: unknown field "spec.containers[0].resorces"', "Correct the field"),
     ("CreateContainerConfigError", 'configmap "settings" not found', "Create the ConfigMap or Secret"),
     ("CreateContainerConfigError", "container has runAsNonRoot and image will run as root", "remove runAsNonRoot"),
     ("FailedMount", 'MountVolume.SetUp failed for volume "v" : secret "key" not found', "Create the ConfigMap or Secret"),
     ("", "1 of 2 running; worker-0: ErrImagePull: not found", "image name"),
     ("", "0 of 2 running; worker-0: unschedulable: 0/1 nodes are available: 1 Insufficient cpu.", "CPU requests"),
     ("Failed", 'Failed to pull image "x": not found', "image name"),
     ("PyTorchJobFailed", "PyTorchJob j is failed because it has reached the specified backoff limit.", "raise backoffLimit")],
)  # fmt: skip
def test_the_message_selects_the_remedy(reason: str, message: str, word: str) -> None:
    assert word in waiting_advice.on_waiting(reason, message, JOB)


WORDS = (
    "secret", "configmap", "persistentvolumeclaim", "unbound", "init", "container", "quota", "gpu", "nvidia", "memory",
    "unschedulable", "untolerated", "podgroup", "backoff", "no-such-file-or-directory",
)  # fmt: skip
"""Names of jobs, which the messages about their pods contain."""


@pytest.mark.parametrize("reason", ["", "Unknown", *sorted(waiting_advice.BY_REASON)])
def test_the_name_of_a_job_selects_no_remedy(reason: str) -> None:
    message = "pod {0}-sauce-worker-0 is still being created on node {0}-1: {0}"
    found = {waiting_advice.on_waiting(reason, message.format(word), JOB) for word in WORDS}
    assert found == {waiting_advice.on_waiting(reason, "", JOB)}


@pytest.mark.parametrize(
    "recognizer", [pytest.param(each, id=f"{number}-{each.name}") for number, each in enumerate(RECOGNIZERS)]
)
def test_every_known_fault_has_a_remedy(recognizer: object) -> None:
    assert getattr(recognizer, "advice").endswith(".")  # noqa: B009


@pytest.mark.parametrize("code", [1, 2, 126, 127, *range(129, 160)])
def test_every_exit_code_has_a_remedy(code: int) -> None:
    end = ReplicaEnd("Worker 0", exit_code=code)
    found = exit_codes.by_signal(end)
    assert (found.advice if found is not None else exit_codes.advice(code)).endswith(".")


@pytest.mark.parametrize("reason", exit_codes.REASONS)
def test_every_reason_of_an_ended_container_has_a_remedy(reason: str) -> None:
    found = exit_codes.by_reason(ReplicaEnd("Worker 0", exit_code=1, reason=reason))
    assert found is not None
    assert found.advice.endswith(".")


@pytest.mark.parametrize(
    ("signal", "cause"),
    [
        pytest.param(9, "the process was killed by SIGKILL", id="the kubelet reports the signal"),
        pytest.param(None, "the process was killed by SIGKILL", id="the kubelet reports exit codes only"),
        pytest.param(0, "the process returned this code itself, as a shell does if SIGKILL ends its command", id="no signal"),
    ],
)
def test_an_exit_code_that_the_program_returned_is_not_called_a_signal(signal: int | None, cause: str) -> None:
    found = exit_codes.by_signal(ReplicaEnd("Worker 0", exit_code=137, signal=signal))
    assert found is not None
    assert found.cause == cause


@pytest.mark.parametrize(("file", "command"), [("./ok.py", "`python ./ok.py`"), ("./ok.sh", "`bash ./ok.sh`")])
def test_a_script_that_is_not_executable_gets_its_own_interpreter(file: str, command: str) -> None:
    end = ReplicaEnd(replica="Worker 0", exit_code=126, reason="StartError", output=f'exec: "{file}": permission denied')
    found = exit_codes.by_reason(end)
    assert found is not None
    assert command in found.advice

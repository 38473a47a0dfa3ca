"""The tables by which the kubelet's own choice of what to start and to end is tested.

One letter a container: `-` never started, `R` running, `0` succeeded, `x` failed, `?` exited without a record.
"""

from __future__ import annotations

import pytest
from tests.embedded.kubelet.lifecycle.pods import at, next_steps_at, observed_container, observed_pod, pod, sidecar

from traincrew.embedded.kubelet.lifecycle import steps
from traincrew.embedded.kubelet.lifecycle.observed import (
    LOST,
    Exited,
    ExitStatus,
    ObservedContainer,
    ProbeKind,
    ProbeResults,
    Running,
    SandboxGone,
)

CHECK = {"exec": {"command": ["check"]}}
STATES = {
    "-": observed_container(),
    "R": observed_container(Running(0, at(1))),
    "0": observed_container(Exited(0, ExitStatus(0, started=at(1), finished=at(2))), backoff=0),
    "x": observed_container(Exited(0, ExitStatus(137, started=at(1), finished=at(2))), backoff=0),
    "?": observed_container(Exited(0, None), backoff=0),
}


def containers_in(names: str, letters: str) -> dict[str, ObservedContainer]:
    return {name: STATES[letter] for name, letter in zip(names, letters, strict=True)}


def started_containers(result: steps.NextSteps) -> str:
    return "".join(step.container for step in result.steps if isinstance(step, steps.StartContainer))


def terminated_containers(result: steps.NextSteps) -> str:
    return "".join(step.container for step in result.steps if isinstance(step, steps.TerminateContainer))


@pytest.mark.parametrize(
    ("policy", "letters", "expected"),
    [
        ("Always", "RRR", ""),
        ("Always", "---", "abc"),
        ("Always", "0xR", "ab"),
        ("OnFailure", "0xR", "b"),
        ("OnFailure", "0-R", "b"),
        ("Never", "0xR", ""),
        ("Never", "R-R", "b"),
        ("Always", "R?R", "b"),
    ],
)
def test_which_containers_are_started(policy: str, letters: str, expected: str) -> None:
    result = next_steps_at(pod(*"abc", restartPolicy=policy), observed_pod(containers_in("abc", letters)))
    assert (started_containers(result), terminated_containers(result)) == (expected, "")


@pytest.mark.parametrize("kind", ["liveness", "startup"])
def test_a_container_that_fails_its_probe_is_terminated_alone(kind: ProbeKind) -> None:
    sick = observed_container(Running(0, at(1)), probes={kind: ProbeResults(0, 3, at(90), "down", result=False)})
    checked = pod("a", {"name": "b", f"{kind}Probe": CHECK}, "c")
    result = next_steps_at(checked, observed_pod({**containers_in("ac", "RR"), "b": sick}))
    assert (started_containers(result), terminated_containers(result)) == ("", "b")


@pytest.mark.parametrize(
    ("policy", "inits", "expected"),
    [
        ("Always", "000", "abc"),
        ("Always", "---", "1"),
        ("Always", "00R", ""),
        ("Always", "0--", "2"),
        ("Always", "00x", "3"),
        ("OnFailure", "00x", "3"),
        ("Never", "00x", ""),
        ("Always", "00?", "3"),
        ("OnFailure", "00?", "3"),
        ("Never", "00?", ""),
    ],
)
def test_which_init_container_is_next(policy: str, inits: str, expected: str) -> None:
    result = next_steps_at(
        pod(*"abc", inits=["1", "2", "3"], restartPolicy=policy), observed_pod(containers_in("123abc", f"{inits}---"))
    )
    assert started_containers(result) == expected


@pytest.mark.parametrize(
    ("policy", "sidecars", "mains", "expected"),
    [
        ("Always", "RRR", "---", "abc"),
        ("Always", "---", "---", "1"),
        ("Always", "R--", "---", "2"),
        ("Always", "RR-", "---", "3"),
        ("Always", "0R0", "---", "13"),
        ("Always", "0RR", "---", "1abc"),
        ("Never", "RRx", "---", "3"),
        ("Never", "RR?", "---", "3"),
        ("Never", "RRx", "RRR", "3"),
        ("Always", "--R", "---", "12abc"),
    ],
)
def test_which_sidecars_are_started(policy: str, sidecars: str, mains: str, expected: str) -> None:
    result = next_steps_at(
        pod(*"abc", inits=[sidecar(name) for name in "123"], restartPolicy=policy),
        observed_pod(containers_in("123abc", f"{sidecars}{mains}")),
    )
    assert (started_containers(result), terminated_containers(result)) == (expected, "")


@pytest.mark.parametrize(("kind", "mains"), [("liveness", "abc"), ("startup", "")])
def test_only_a_sidecar_that_has_not_started_delays_the_other_containers(kind: ProbeKind, mains: str) -> None:
    sick = observed_container(Running(0, at(1)), probes={kind: ProbeResults(0, 3, at(90), "down", result=False)})
    checked = pod(*"abc", inits=[sidecar("1"), sidecar("2", **{f"{kind}Probe": CHECK})])
    result = next_steps_at(checked, observed_pod({**containers_in("1abc", "R---"), "2": sick}))
    assert (started_containers(result), terminated_containers(result)) == (mains, "2")


def test_sidecars_stop_in_reverse_order_when_all_containers_succeeded() -> None:
    result = next_steps_at(
        pod(*"abc", inits=[sidecar(name) for name in "123"], restartPolicy="Never"),
        observed_pod(containers_in("123abc", "RRR000")),
    )
    assert (started_containers(result), terminated_containers(result)) == ("", "3")


@pytest.mark.parametrize(
    ("policy", "letters", "created"),
    [
        ("Never", "000", False),
        ("OnFailure", "000", False),
        ("Never", "---", True),
        ("OnFailure", "0x0", True),
        ("Always", "000", True),
    ],
)
def test_a_sandbox_is_created_again_only_if_a_container_has_to_run_in_it(policy: str, letters: str, created: bool) -> None:
    result = next_steps_at(
        pod(*"abc", restartPolicy=policy), observed_pod(containers_in("abc", letters), sandbox=SandboxGone(LOST))
    )
    assert (result.steps == (steps.CreateSandbox(),)) is created

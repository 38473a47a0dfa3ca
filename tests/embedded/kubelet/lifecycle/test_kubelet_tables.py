"""The tables by which the kubelet's own choice of what to start and to end is tested.

One letter a container: `-` never begun, `R` running, `0` ended well, `x` failed, `?` ended without a record.
"""

from __future__ import annotations

import pytest
from tests.embedded.kubelet.lifecycle.pods import ask, at, facts, known, pod, sidecar

from traincrew.embedded.kubelet.lifecycle import steps
from traincrew.embedded.kubelet.lifecycle.facts import LOST, ContainerFacts, Ended, Exit, Gone, ProbeFacts, ProbeKind, Running

CHECK = {"exec": {"command": ["check"]}}
MADE = {
    "-": known(),
    "R": known(Running(0, at(1))),
    "0": known(Ended(0, Exit(0, started=at(1), finished=at(2))), backoff=0),
    "x": known(Ended(0, Exit(137, started=at(1), finished=at(2))), backoff=0),
    "?": known(Ended(0, None), backoff=0),
}


def found(names: str, letters: str) -> dict[str, ContainerFacts]:
    return {name: MADE[letter] for name, letter in zip(names, letters, strict=True)}


def started(answer: steps.Steps) -> str:
    return "".join(step.container for step in answer.steps if isinstance(step, steps.Start))


def ended(answer: steps.Steps) -> str:
    return "".join(step.container for step in answer.steps if isinstance(step, steps.Stop))


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
    answer = ask(pod(*"abc", restartPolicy=policy), facts(found("abc", letters)))
    assert (started(answer), ended(answer)) == (expected, "")


@pytest.mark.parametrize("kind", ["liveness", "startup"])
def test_a_container_that_failed_its_check_is_ended_alone(kind: ProbeKind) -> None:
    sick = known(Running(0, at(1)), probes={kind: ProbeFacts(0, 3, at(90), "down", verdict=False)})
    checked = pod("a", {"name": "b", f"{kind}Probe": CHECK}, "c")
    answer = ask(checked, facts({**found("ac", "RR"), "b": sick}))
    assert (started(answer), ended(answer)) == ("", "b")


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
    answer = ask(pod(*"abc", inits=["1", "2", "3"], restartPolicy=policy), facts(found("123abc", f"{inits}---")))
    assert started(answer) == expected


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
    answer = ask(
        pod(*"abc", inits=[sidecar(name) for name in "123"], restartPolicy=policy), facts(found("123abc", f"{sidecars}{mains}"))
    )
    assert (started(answer), ended(answer)) == (expected, "")


@pytest.mark.parametrize(("kind", "mains"), [("liveness", "abc"), ("startup", "")])
def test_a_sidecar_that_fails_its_liveness_check_holds_nothing_up_one_that_has_not_started_does(
    kind: ProbeKind, mains: str
) -> None:
    sick = known(Running(0, at(1)), probes={kind: ProbeFacts(0, 3, at(90), "down", verdict=False)})
    checked = pod(*"abc", inits=[sidecar("1"), sidecar("2", **{f"{kind}Probe": CHECK})])
    answer = ask(checked, facts({**found("1abc", "R---"), "2": sick}))
    assert (started(answer), ended(answer)) == (mains, "2")


def test_when_all_main_containers_succeeded_the_sidecars_end_the_last_first() -> None:
    answer = ask(pod(*"abc", inits=[sidecar(name) for name in "123"], restartPolicy="Never"), facts(found("123abc", "RRR000")))
    assert (started(answer), ended(answer)) == ("", "3")


@pytest.mark.parametrize(
    ("policy", "letters", "made"),
    [
        ("Never", "000", False),
        ("OnFailure", "000", False),
        ("Never", "---", True),
        ("OnFailure", "0x0", True),
        ("Always", "000", True),
    ],
)
def test_a_sandbox_is_made_anew_only_if_something_is_to_run_in_it(policy: str, letters: str, made: bool) -> None:
    answer = ask(pod(*"abc", restartPolicy=policy), facts(found("abc", letters), sandbox=Gone(LOST)))
    assert (answer.steps == (steps.MakeSandbox(),)) is made

"""The events that the facts justify, in a kubelet's words."""

from __future__ import annotations

from collections.abc import Iterator

from traincrew.embedded.kubelet.lifecycle import attempts, backoff, image_pulls, termination
from traincrew.embedded.kubelet.lifecycle.agenda import Case
from traincrew.embedded.kubelet.lifecycle.facts import (
    PROBE_KINDS,
    ContainerFacts,
    Ended,
    Environment,
    Refused,
    Running,
    Unmade,
    Waiting,
)
from traincrew.embedded.kubelet.lifecycle.pod import Part, Role
from traincrew.embedded.kubelet.lifecycle.steps import Event

NORMAL, WARNING = "Normal", "Warning"


def justified(case: Case) -> tuple[Event, ...]:
    """Every event that holds at this moment; the key tells which have been recorded before."""
    if case.subject.finished:
        return ()
    found = [*_of_pod(case)]
    for part in case.subject.parts:
        found.extend(_of_container(case, part))
    return tuple(found)


def _of_pod(case: Case) -> Iterator[Event]:
    facts, failure = case.facts, case.outlook.failure
    if isinstance(facts.volumes, Waiting):
        key = f"{facts.volumes.reason}/{facts.volumes.at.isoformat()}"
        yield Event(key, WARNING, facts.volumes.reason, facts.volumes.message)
    if isinstance(facts.sandbox, Unmade):
        key = f"FailedCreatePodSandBox/{facts.sandbox.at.isoformat()}"
        yield Event(key, WARNING, "FailedCreatePodSandBox", f"Failed to create pod sandbox: {facts.sandbox.message}")
    if attempts.gone_unasked(facts) and not case.outlook.ending:
        attempt = max((known.last.attempt for known in facts.containers.values() if known.last), default=0)
        words = "Pod sandbox changed, it will be killed and re-created."
        yield Event(f"SandboxChanged/{attempt}", NORMAL, "SandboxChanged", words)
    if failure is not None:
        kind = NORMAL if failure.kind == termination.DEADLINE else WARNING
        message = facts.rejection.message if facts.rejection is not None else failure.message
        yield Event(failure.reason, kind, failure.reason, message)


def _of_container(case: Case, part: Part) -> Iterator[Event]:
    known = case.of(part)
    if isinstance(known.environment, Refused) and not attempts.alive(known) and not case.outlook.ending:
        yield from _no_image(case, part, known.environment)
    if known.last is None:
        return
    if isinstance(known.last, Running | Ended | Refused) and not _told_by_another(case, part, known):
        yield from _made(part, known)
    if known.stopping is not None:
        yield _event(part, f"Killing/{known.last.attempt}", NORMAL, "Killing", _why_killed(case, part, known.stopping.reason))
    yield from _hooks(part, known)
    yield from _unhealthy(part, known)
    if _in_crash_loop(case, part, known):
        words = f"Back-off restarting failed container {part.name} in pod {case.subject.words}"
        yield _event(part, f"BackOff/{known.last.attempt}", WARNING, "BackOff", words)


def _made(part: Part, known: ContainerFacts) -> Iterator[Event]:
    last = known.last
    assert last is not None
    number = f"{last.attempt}/{last.times}" if isinstance(last, Refused) else str(last.attempt)
    if isinstance(known.environment, Environment):
        words = known.environment.words or f'Container image "{part.image}" already present on machine'
        yield _event(part, f"Pulled/{last.attempt}", NORMAL, "Pulled", words)
    if not isinstance(last, Refused) or backoff.used_up(last):
        yield _event(part, f"Created/{last.attempt}", NORMAL, "Created", f"Created container: {part.name}")
    if isinstance(last, Refused):
        yield _event(part, f"Failed/{number}/{last.at.isoformat()}", WARNING, "Failed", f"Error: {last.message}")
    else:
        yield _event(part, f"Started/{last.attempt}", NORMAL, "Started", f"Started container {part.name}")


def _told_by_another(case: Case, part: Part, known: ContainerFacts) -> bool:
    """Whether the daemon before this one has told of the attempt: its status is in the API."""
    api = case.subject.known.get(part.name)
    if not case.facts.adopted or api is None or known.last is None:
        return False
    return bool(api.get("containerID") == case.subject.container_id(part.name, known.last.attempt))


def _no_image(case: Case, part: Part, refused: Refused) -> Iterator[Event]:
    at = refused.at.isoformat()
    if not backoff.is_of_image(refused):
        reason = "InspectFailed" if refused.reason == "InvalidImageName" else refused.reason
        yield _event(part, f"{reason}/{at}", WARNING, reason, refused.message)
    else:
        words = f'Failed to pull image "{part.image}": {refused.message}'
        yield _event(part, f"Pulling/{at}", NORMAL, "Pulling", f'Pulling image "{part.image}"')
        yield _event(part, f"FailedPull/{at}", WARNING, "Failed", words)
    yield _event(part, f"FailedImage/{at}", WARNING, "Failed", f"Error: {refused.reason}")
    if image_pulls.backing_off(refused, case.now):
        yield _event(part, f"BackOffPull/{at}", NORMAL, "BackOff", f'Back-off pulling image "{part.image}"')
        yield _event(part, f"FailedBackOff/{at}", WARNING, "Failed", "Error: ImagePullBackOff")


def _why_killed(case: Case, part: Part, reason: str) -> str:
    if reason == "postStart":
        return "FailedPostStartHook"
    if reason not in backoff.BY_PROBES:
        return f"Stopping container {part.name}"
    if part.role is Role.SIDECAR:
        return f"Init container {part.name} failed {reason} probe"
    again = "" if case.subject.restart_policy == "Never" else ", will be restarted"
    return f"Container {part.name} failed {reason} probe{again}"


def _hooks(part: Part, known: ContainerFacts) -> Iterator[Event]:
    attempt = known.last.attempt if known.last else 0
    if attempts.hook_failed(known.post_start):
        yield _event(part, f"FailedPostStartHook/{attempt}", WARNING, "FailedPostStartHook", "PostStartHook failed")
    if attempts.hook_failed(known.pre_stop):
        yield _event(part, f"FailedPreStopHook/{attempt}", WARNING, "FailedPreStopHook", "PreStopHook failed")


def _unhealthy(part: Part, known: ContainerFacts) -> Iterator[Event]:
    for kind in PROBE_KINDS:
        probe = known.probes.get(kind)
        if probe is None or probe.last_at is None or probe.under_way is not None or not (probe.failures or probe.errored):
            continue
        how = "errored" if probe.errored else "failed"
        words = f"{kind.capitalize()} probe {how}: {probe.last_message}"
        yield _event(part, f"Unhealthy/{kind}/{probe.last_at.isoformat()}", WARNING, "Unhealthy", words)


def _in_crash_loop(case: Case, part: Part, known: ContainerFacts) -> bool:
    if case.outlook.ending or not backoff.used_up(known.last) or not attempts.to_restart(case.subject, part, known.last):
        return False
    until = backoff.after_end(known).until
    return until is not None and until > case.now


def _event(part: Part, key: str, kind: str, reason: str, message: str) -> Event:
    return Event(f"{part.name}/{key}", kind, reason, message, part.name, part.field_path)

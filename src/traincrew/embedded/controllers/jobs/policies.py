"""The pod failure policy and the success policy of a Job."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from traincrew.apimachinery import completion_indexes
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.controllers.pods import Condition, ContainerStatus, Pod


class FailureAction(NamedTuple):
    action: str = ""
    message: str = ""
    """Why the Job fails; empty unless it does."""

    @property
    def counts(self) -> bool:
        return self.action != "Ignore"


def only_failed_are_replaced(spec: Object) -> bool:
    return spec.get("podReplacementPolicy") == "Failed" or spec.get("podFailurePolicy") is not None


def is_failed(pod: Pod, spec: Object) -> bool:
    """A terminating pod counts too, unless the Job waits for its end: it may never report a phase."""
    if pod.status.phase == "Failed":
        return True
    return not only_failed_are_replaced(spec) and pod.deleted and pod.status.phase != "Succeeded"


def match_failure_policy(spec: Object, pod: Pod) -> FailureAction:
    for number, rule in enumerate((spec.get("podFailurePolicy") or {}).get("rules") or ()):
        action, why = rule["action"], ""
        if (codes := rule.get("onExitCodes")) is not None:
            if (ended := _exited(pod, codes)) is not None:
                why = f"Container {ended.name} for pod {_name(pod)} failed with exit code {_code(ended)}"
        elif (patterns := rule.get("onPodConditions")) and (condition := _condition(pod, patterns)) is not None:
            why = f"Pod {_name(pod)} has condition {condition.type}"
        if why:
            return FailureAction(action, f"{why} matching {action} rule at index {number}" if action == "FailJob" else "")
    return FailureAction()


def _name(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"


def _code(status: ContainerStatus) -> int:
    return status.state.terminated.exit_code if status.state.terminated else 0


def _exited(pod: Pod, requirement: Object) -> ContainerStatus | None:
    name, values = requirement.get("containerName"), requirement.get("values") or ()
    must_contain = requirement.get("operator") == "In"
    for status in (*pod.status.container_statuses, *pod.status.init_container_statuses):
        code = _code(status)
        if code != 0 and name in (None, status.name) and (code in values) == must_contain:
            return status
    return None


def _condition(pod: Pod, patterns: Iterable[Object]) -> Condition | None:
    expected = {(each["type"], each.get("status", "True")) for each in patterns}
    return next((each for each in pod.status.conditions if (each.type, each.status) in expected), None)


def match_success_policy(spec: Object, succeeded: frozenset[int]) -> str:
    """A message that names the matching rule; empty: none matches."""
    for number, rule in enumerate((spec.get("successPolicy") or {}).get("rules") or ()):
        if succeeded and _met(rule, succeeded, spec["completions"]):
            return f"Matched rules at index {number}"
    return ""


def _met(rule: Object, succeeded: frozenset[int], completions: int) -> bool:
    count = rule.get("succeededCount")
    if rule.get("succeededIndexes") is None:
        return count is not None and len(succeeded) >= count
    required = completion_indexes.parse(rule["succeededIndexes"], completions)
    if not required:
        return False
    return required <= succeeded or (count is not None and len(required & succeeded) >= count)

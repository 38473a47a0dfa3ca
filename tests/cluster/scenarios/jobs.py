"""Batch Jobs, run to their end or to a waiting state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.cluster.api import Object, eventually
from tests.cluster.scenarios.scenario import ControllerScenario


def job(policy: str = "Never", **spec: Any) -> Object:
    containers = [{"name": "c", "image": "i"}]
    meta = {"labels": {"app": "x"}, "annotations": {"example.com/noted": "yes"}}
    template = {"metadata": meta, "spec": {"restartPolicy": policy, "containers": containers}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"template": template, **spec}}


def status(scenario: ControllerScenario) -> Object:
    found: Object = scenario.get("jobs", "j").get("status", {})
    return found


def status_when(scenario: ControllerScenario, condition: Callable[[Object], Any]) -> Object:
    """Waits, and returns the status that fulfils the condition: when it is read again, it may have changed."""

    def found() -> Object | None:
        read = status(scenario)
        return read if condition(read) else None

    shown: Object = scenario.plain(scenario.becomes(found))
    return shown


def ended(scenario: ControllerScenario, word: str) -> None:
    def is_so() -> bool:
        conditions = status(scenario).get("conditions", ())
        return any(each["type"] == word and each["status"] == "True" for each in conditions)

    scenario.becomes(is_so)


def seen(scenario: ControllerScenario) -> Object:
    """Everything that a client can observe."""
    pods = [{key: each[key] for key in ("metadata", "spec")} for each in scenario.all("pods")]
    for pod in pods:
        for key in ("tolerations", "schedulerName", "preemptionPolicy", "serviceAccountName", "serviceAccount"):
            pod["spec"].pop(key, None)
        for container in pod["spec"]["containers"]:
            container.pop("volumeMounts", None)
        pod["spec"].pop("volumes", None)
    pods.sort(key=lambda each: str(each["metadata"].get("annotations")) + str(each["metadata"].get("deletionTimestamp")))
    shown = status(scenario)
    return {"status": scenario.plain(shown), "pods": scenario.plain(pods), "events": scenario.events("Job")}


def completes(scenario: ControllerScenario) -> Object:
    scenario.create("jobs", job(completions=2, parallelism=2))
    names = scenario.pods(2)
    scenario.kubelet.run(*names)
    running = status_when(scenario, lambda found: found["ready"] == 2)
    scenario.kubelet.succeed(*names)
    ended(scenario, "Complete")
    scenario.event("Completed")
    return {"running": running, **seen(scenario)}


def works_without_completions(scenario: ControllerScenario) -> Object:
    scenario.create("jobs", job(parallelism=2))
    scenario.patch("jobs", "j", {"spec": {"parallelism": 3}})
    names = scenario.pods(3)
    scenario.kubelet.succeed(names[0])
    status_when(scenario, lambda found: found.get("succeeded") == 1 and found["active"] == 2)
    scenario.kubelet.succeed(*names[1:])
    ended(scenario, "Complete")
    scenario.event("Completed")
    return seen(scenario)


def fails_at_the_first(scenario: ControllerScenario) -> Object:
    scenario.create("jobs", job(backoffLimit=0, completions=2, parallelism=2))
    names = scenario.pods(2)
    scenario.kubelet.run(*names, bind=False)
    scenario.kubelet.fail(names[0], code=3)
    ended(scenario, "Failed")
    scenario.event("BackoffLimitExceeded")
    found = seen(scenario)
    return {"status": found["status"], "events": found["events"], "pods": len(scenario.all("pods"))}


def waits_before_it_tries_again(scenario: ControllerScenario) -> Object:
    scenario.create("jobs", job(backoffLimit=3))
    scenario.kubelet.fail(*scenario.pods(1))
    waiting = status_when(scenario, lambda found: found.get("failed") == 1 and not found.get("uncountedTerminatedPods"))
    eventually(lambda: scenario.pods(1), 30)
    return {"waiting": waiting, "events": scenario.events("Job")}


def is_suspended_and_resumed(scenario: ControllerScenario) -> Object:
    scenario.create("jobs", job(suspend=True))
    ended(scenario, "Suspended")
    created = scenario.plain(status(scenario))
    scenario.patch("jobs", "j", {"spec": {"suspend": False}})
    scenario.pods(1)
    resumed = status_when(scenario, lambda found: found.get("active") == 1 and "startTime" in found)
    scenario.patch("jobs", "j", {"spec": {"suspend": True}})
    scenario.pods(0)
    status_when(scenario, lambda found: "active" not in found and not found["terminating"])
    ended(scenario, "Suspended")
    scenario.event("SuccessfulDelete")
    return {"created": created, "resumed": resumed, **seen(scenario)}


def exceeds_its_deadline(scenario: ControllerScenario) -> Object:
    scenario.create("jobs", job())
    scenario.kubelet.run(*scenario.pods(1), bind=False)
    scenario.patch("jobs", "j", {"spec": {"activeDeadlineSeconds": 1}})
    ended(scenario, "Failed")
    scenario.event("DeadlineExceeded")
    return seen(scenario)


def waits_for_pods_that_are_going(scenario: ControllerScenario) -> Object:
    """The Job fails only after its terminating pods are gone."""
    scenario.create("jobs", job())
    names = scenario.pods(1)
    scenario.kubelet.run(*names)
    scenario.patch("jobs", "j", {"spec": {"activeDeadlineSeconds": 1}})
    ended(scenario, "FailureTarget")
    going = status_when(scenario, lambda found: found.get("failed") == 1)
    scenario.kubelet.gone(names[0])
    ended(scenario, "Failed")
    scenario.event("DeadlineExceeded")
    return {"going": going, **seen(scenario)}


def has_indexes(scenario: ControllerScenario) -> Object:
    scenario.create("jobs", job(completions=4, parallelism=3, completionMode="Indexed"))
    names = scenario.pods(3)
    first = scenario.plain([each["spec"].get("hostname") for each in scenario.all("pods")])
    scenario.kubelet.succeed(names[0], names[2])
    scenario.becomes(lambda: status(scenario).get("completedIndexes") == "0,2")
    names = scenario.pods(2)
    scenario.kubelet.succeed(*names)
    ended(scenario, "Complete")
    scenario.event("Completed")
    return {"first": first, **seen(scenario)}


def fails_by_policy(scenario: ControllerScenario) -> Object:
    rule = {"action": "FailJob", "onExitCodes": {"containerName": "c", "operator": "In", "values": [42]}}
    scenario.create("jobs", job(podFailurePolicy={"rules": [rule]}))
    scenario.kubelet.fail(*scenario.pods(1), code=42)
    ended(scenario, "Failed")
    scenario.event("PodFailurePolicy")
    return seen(scenario)


def ignores_disruptions(scenario: ControllerScenario) -> Object:
    rule = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    scenario.create("jobs", job(backoffLimit=0, podFailurePolicy={"rules": [rule]}))
    target = {"type": "DisruptionTarget", "status": "True"}
    status_when(scenario, lambda found: found["active"] == 1)
    scenario.kubelet.fail_without_status(scenario.pods(1)[0], "Evicted", "", [target])
    return {"waiting": status_when(scenario, lambda found: "active" not in found)}


def replaces_a_deleted_pod(scenario: ControllerScenario) -> Object:
    scenario.create("jobs", job())
    scenario.delete("pods", scenario.pods(1)[0])
    waiting = status_when(scenario, lambda found: found.get("failed") == 1 and not found["terminating"])
    eventually(lambda: scenario.pods(1), 30)
    return {"waiting": waiting, "events": scenario.events("Job")}


def replaces_only_what_has_failed(scenario: ControllerScenario) -> Object:
    scenario.create("jobs", job(podReplacementPolicy="Failed"))
    names = scenario.pods(1)
    scenario.kubelet.run(*names)
    scenario.delete("pods", names[0])
    going = status_when(scenario, lambda found: found["terminating"] == 1)
    return {"going": going, "pods": len(scenario.all("pods"))}


def is_met_by_policy(scenario: ControllerScenario) -> Object:
    policy = {"rules": [{"succeededIndexes": "1"}]}
    scenario.create("jobs", job(completions=3, parallelism=3, completionMode="Indexed", successPolicy=policy))
    scenario.kubelet.succeed(scenario.pods(3)[1])
    ended(scenario, "Complete")
    scenario.event("Completed")
    return seen(scenario)


def fails_index_by_index(scenario: ControllerScenario) -> Object:
    scenario.create("jobs", job(completions=2, parallelism=2, completionMode="Indexed", backoffLimitPerIndex=0))
    names = scenario.pods(2)
    scenario.kubelet.fail(names[0])
    scenario.becomes(lambda: status(scenario).get("failedIndexes") == "0")
    scenario.kubelet.succeed(names[1])
    ended(scenario, "Failed")
    scenario.event("FailedIndexes")
    return seen(scenario)


def counts_an_indexes_failures(scenario: ControllerScenario) -> Object:
    scenario.create("jobs", job(completions=1, parallelism=1, completionMode="Indexed", backoffLimitPerIndex=1))
    scenario.kubelet.fail(scenario.pods(1)[0])
    eventually(lambda: scenario.pods(1), 30)
    scenario.becomes(lambda: status(scenario).get("failed") == 1)
    return seen(scenario)


def is_made_smaller(scenario: ControllerScenario) -> Object:
    scenario.create("jobs", job(completions=5, parallelism=3))
    scenario.kubelet.run(scenario.pods(3)[0])
    scenario.patch("jobs", "j", {"spec": {"parallelism": 1}})
    scenario.pods(1)
    status_when(scenario, lambda found: found["active"] == 1 and not found["terminating"])
    scenario.event("SuccessfulDelete")
    return seen(scenario)


def restarts_too_often_in_its_pod(scenario: ControllerScenario) -> Object:
    scenario.create("jobs", job("OnFailure", backoffLimit=2))
    names = scenario.pods(1)
    scenario.kubelet.run(*names, bind=False)
    scenario.kubelet.restart(names[0], 2)
    ended(scenario, "Failed")
    scenario.event("BackoffLimitExceeded")
    return seen(scenario)


def lives_its_time(scenario: ControllerScenario) -> Object:
    scenario.create("jobs", job(ttlSecondsAfterFinished=0))
    scenario.kubelet.succeed(*scenario.pods(1))
    scenario.becomes(lambda: scenario.gone("jobs", "j"))
    scenario.becomes(lambda: not scenario.all("pods"))
    return {"events": scenario.events("Job")}


def may_not_make_pods(scenario: ControllerScenario) -> Object:
    hard = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "0"}}}
    scenario.create("resourcequotas", hard)
    scenario.patch("resourcequotas", "q", {"status": {"hard": {"pods": "0"}, "used": {"pods": "0"}}}, "status")
    scenario.create("jobs", job())
    scenario.event("FailedCreate")
    return {"events": scenario.events("Job")}


def is_deleted(scenario: ControllerScenario) -> Object:
    scenario.create("jobs", job())
    scenario.kubelet.run(*scenario.pods(1), bind=False)
    body = {"propagationPolicy": "Foreground"}
    scenario.api.call("DELETE", scenario.path("jobs", "j"), body)
    scenario.becomes(lambda: not scenario.all("pods") and scenario.gone("jobs", "j"))
    return {}


SCENARIOS = (
    completes, works_without_completions, fails_at_the_first, waits_before_it_tries_again, is_suspended_and_resumed,
    exceeds_its_deadline, waits_for_pods_that_are_going, has_indexes, fails_by_policy, ignores_disruptions,
    replaces_a_deleted_pod, replaces_only_what_has_failed, is_met_by_policy, fails_index_by_index, counts_an_indexes_failures,
    is_made_smaller, restarts_too_often_in_its_pod, lives_its_time, may_not_make_pods, is_deleted,
)  # fmt: skip

"""Jobs of all sorts, played to an end or to where they wait."""

from __future__ import annotations

from typing import Any

from tests.cluster.api import Object, eventually
from tests.cluster.scenes.stage import Stage


def job(policy: str = "Never", **spec: Any) -> Object:
    containers = [{"name": "c", "image": "i"}]
    meta = {"labels": {"app": "x"}, "annotations": {"told": "yes"}}
    template = {"metadata": meta, "spec": {"restartPolicy": policy, "containers": containers}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"template": template, **spec}}


def status(stage: Stage) -> Object:
    found: Object = stage.get("jobs", "j").get("status", {})
    return found


def ended(stage: Stage, word: str) -> None:
    def is_so() -> bool:
        conditions = status(stage).get("conditions", ())
        return any(each["type"] == word and each["status"] == "True" for each in conditions)

    stage.becomes(is_so)


def seen(stage: Stage) -> Object:
    """All that a client can see of it."""
    pods = [{key: each[key] for key in ("metadata", "spec")} for each in stage.all("pods")]
    for pod in pods:
        for key in ("tolerations", "schedulerName", "preemptionPolicy", "serviceAccountName", "serviceAccount"):
            pod["spec"].pop(key, None)
        for container in pod["spec"]["containers"]:
            container.pop("volumeMounts", None)
        pod["spec"].pop("volumes", None)
    pods.sort(key=lambda each: str(each["metadata"].get("annotations")) + str(each["metadata"].get("deletionTimestamp")))
    shown = status(stage)
    return {"status": stage.plain(shown), "pods": stage.plain(pods), "events": stage.events("Job")}


def completes(stage: Stage) -> Object:
    stage.create("jobs", job(completions=2, parallelism=2))
    names = stage.pods(2)
    stage.kubelet.run(*names)
    stage.becomes(lambda: status(stage)["ready"] == 2)
    running = stage.plain(status(stage))
    stage.kubelet.succeed(*names)
    ended(stage, "Complete")
    stage.event("Completed")
    return {"running": running, **seen(stage)}


def works_without_completions(stage: Stage) -> Object:
    stage.create("jobs", job(parallelism=2))
    stage.patch("jobs", "j", {"spec": {"parallelism": 3}})
    names = stage.pods(3)
    stage.kubelet.succeed(names[0])
    stage.becomes(lambda: status(stage).get("succeeded") == 1 and status(stage)["active"] == 2)
    stage.kubelet.succeed(*names[1:])
    ended(stage, "Complete")
    stage.event("Completed")
    return seen(stage)


def fails_at_the_first(stage: Stage) -> Object:
    stage.create("jobs", job(backoffLimit=0, completions=2, parallelism=2))
    names = stage.pods(2)
    stage.kubelet.run(*names, bind=False)
    stage.kubelet.fail(names[0], code=3)
    ended(stage, "Failed")
    stage.event("BackoffLimitExceeded")
    found = seen(stage)
    return {"status": found["status"], "events": found["events"], "pods": len(stage.all("pods"))}


def waits_before_it_tries_again(stage: Stage) -> Object:
    stage.create("jobs", job(backoffLimit=3))
    stage.kubelet.fail(*stage.pods(1))
    stage.becomes(lambda: status(stage).get("failed") == 1 and not status(stage).get("uncountedTerminatedPods"))
    waiting = stage.plain(status(stage))
    eventually(lambda: stage.pods(1), 30)
    return {"waiting": waiting, "events": stage.events("Job")}


def is_suspended_and_resumed(stage: Stage) -> Object:
    stage.create("jobs", job(suspend=True))
    ended(stage, "Suspended")
    created = stage.plain(status(stage))
    stage.patch("jobs", "j", {"spec": {"suspend": False}})
    stage.pods(1)
    stage.becomes(lambda: status(stage).get("active") == 1 and "startTime" in status(stage))
    resumed = stage.plain(status(stage))
    stage.patch("jobs", "j", {"spec": {"suspend": True}})
    stage.pods(0)
    stage.becomes(lambda: "active" not in status(stage) and not status(stage)["terminating"])
    ended(stage, "Suspended")
    stage.event("SuccessfulDelete")
    return {"created": created, "resumed": resumed, **seen(stage)}


def exceeds_its_deadline(stage: Stage) -> Object:
    stage.create("jobs", job())
    stage.kubelet.run(*stage.pods(1), bind=False)
    stage.patch("jobs", "j", {"spec": {"activeDeadlineSeconds": 1}})
    ended(stage, "Failed")
    stage.event("DeadlineExceeded")
    return seen(stage)


def waits_for_pods_that_are_going(stage: Stage) -> Object:
    """A pod on a node takes its time: until it is gone the Job has not failed, though it is known that it will."""
    stage.create("jobs", job())
    names = stage.pods(1)
    stage.kubelet.run(*names)
    stage.patch("jobs", "j", {"spec": {"activeDeadlineSeconds": 1}})
    ended(stage, "FailureTarget")
    stage.becomes(lambda: status(stage).get("failed") == 1)
    going = stage.plain(status(stage))
    stage.kubelet.gone(names[0])
    ended(stage, "Failed")
    stage.event("DeadlineExceeded")
    return {"going": going, **seen(stage)}


def has_indexes(stage: Stage) -> Object:
    stage.create("jobs", job(completions=4, parallelism=3, completionMode="Indexed"))
    names = stage.pods(3)
    first = stage.plain([each["spec"].get("hostname") for each in stage.all("pods")])
    stage.kubelet.succeed(names[0], names[2])
    stage.becomes(lambda: status(stage).get("completedIndexes") == "0,2")
    names = stage.pods(2)
    stage.kubelet.succeed(*names)
    ended(stage, "Complete")
    stage.event("Completed")
    return {"first": first, **seen(stage)}


def fails_by_policy(stage: Stage) -> Object:
    rule = {"action": "FailJob", "onExitCodes": {"containerName": "c", "operator": "In", "values": [42]}}
    stage.create("jobs", job(podFailurePolicy={"rules": [rule]}))
    stage.kubelet.fail(*stage.pods(1), code=42)
    ended(stage, "Failed")
    stage.event("PodFailurePolicy")
    return seen(stage)


def ignores_disruptions(stage: Stage) -> Object:
    rule = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    stage.create("jobs", job(backoffLimit=0, podFailurePolicy={"rules": [rule]}))
    target = {"type": "DisruptionTarget", "status": "True"}
    stage.kubelet.fail_without_status(stage.pods(1)[0], "Evicted", "", [target])
    stage.becomes(lambda: "active" not in status(stage))
    waiting = stage.plain(status(stage))
    return {"waiting": waiting}


def replaces_a_deleted_pod(stage: Stage) -> Object:
    stage.create("jobs", job())
    stage.delete("pods", stage.pods(1)[0])
    stage.becomes(lambda: status(stage).get("failed") == 1 and not status(stage)["terminating"])
    waiting = stage.plain(status(stage))
    eventually(lambda: stage.pods(1), 30)
    return {"waiting": waiting, "events": stage.events("Job")}


def replaces_only_what_has_failed(stage: Stage) -> Object:
    stage.create("jobs", job(podReplacementPolicy="Failed"))
    names = stage.pods(1)
    stage.kubelet.run(*names)
    stage.delete("pods", names[0])
    stage.becomes(lambda: status(stage)["terminating"] == 1)
    going = stage.plain(status(stage))
    return {"going": going, "pods": len(stage.all("pods"))}


def is_met_by_policy(stage: Stage) -> Object:
    policy = {"rules": [{"succeededIndexes": "1"}]}
    stage.create("jobs", job(completions=3, parallelism=3, completionMode="Indexed", successPolicy=policy))
    stage.kubelet.succeed(stage.pods(3)[1])
    ended(stage, "Complete")
    stage.event("Completed")
    return seen(stage)


def fails_index_by_index(stage: Stage) -> Object:
    stage.create("jobs", job(completions=2, parallelism=2, completionMode="Indexed", backoffLimitPerIndex=0))
    names = stage.pods(2)
    stage.kubelet.fail(names[0])
    stage.becomes(lambda: status(stage).get("failedIndexes") == "0")
    stage.kubelet.succeed(names[1])
    ended(stage, "Failed")
    stage.event("FailedIndexes")
    return seen(stage)


def counts_an_indexes_failures(stage: Stage) -> Object:
    stage.create("jobs", job(completions=1, parallelism=1, completionMode="Indexed", backoffLimitPerIndex=1))
    stage.kubelet.fail(stage.pods(1)[0])
    eventually(lambda: stage.pods(1), 30)
    stage.becomes(lambda: status(stage).get("failed") == 1)
    return seen(stage)


def is_made_smaller(stage: Stage) -> Object:
    stage.create("jobs", job(completions=5, parallelism=3))
    stage.kubelet.run(stage.pods(3)[0])
    stage.patch("jobs", "j", {"spec": {"parallelism": 1}})
    stage.pods(1)
    stage.becomes(lambda: status(stage)["active"] == 1 and not status(stage)["terminating"])
    stage.event("SuccessfulDelete")
    return seen(stage)


def restarts_too_often_in_its_pod(stage: Stage) -> Object:
    stage.create("jobs", job("OnFailure", backoffLimit=2))
    names = stage.pods(1)
    stage.kubelet.run(*names, bind=False)
    stage.kubelet.restart(names[0], 2)
    ended(stage, "Failed")
    stage.event("BackoffLimitExceeded")
    return seen(stage)


def lives_its_time(stage: Stage) -> Object:
    stage.create("jobs", job(ttlSecondsAfterFinished=0))
    stage.kubelet.succeed(*stage.pods(1))
    stage.becomes(lambda: stage.gone("jobs", "j"))
    stage.becomes(lambda: not stage.all("pods"))
    return {"events": stage.events("Job")}


def may_not_make_pods(stage: Stage) -> Object:
    hard = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "0"}}}
    stage.create("resourcequotas", hard)
    stage.patch("resourcequotas", "q", {"status": {"hard": {"pods": "0"}, "used": {"pods": "0"}}}, "status")
    stage.create("jobs", job())
    stage.event("FailedCreate")
    return {"events": stage.events("Job")}


def is_deleted(stage: Stage) -> Object:
    stage.create("jobs", job())
    stage.kubelet.run(*stage.pods(1), bind=False)
    body = {"propagationPolicy": "Foreground"}
    stage.api.call("DELETE", stage.path("jobs", "j"), body)
    stage.becomes(lambda: not stage.all("pods") and stage.gone("jobs", "j"))
    return {}


SCENES = (
    completes, works_without_completions, fails_at_the_first, waits_before_it_tries_again, is_suspended_and_resumed,
    exceeds_its_deadline, waits_for_pods_that_are_going, has_indexes, fails_by_policy, ignores_disruptions,
    replaces_a_deleted_pod, replaces_only_what_has_failed, is_met_by_policy, fails_index_by_index, counts_an_indexes_failures,
    is_made_smaller, restarts_too_often_in_its_pod, lives_its_time, may_not_make_pods, is_deleted,
)  # fmt: skip

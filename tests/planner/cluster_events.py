"""Changes to the simulation by others than the operator: scheduler, kubelets, Job controller, users, and time."""

from __future__ import annotations

import datetime as dt
from typing import Any

from tests.planner.simulation import GRACE, Manifest, Simulation, owner_uid, stamp

from traincrew.model import resources
from traincrew.model.observed import PodWarning

DISRUPTIONS = ("evict", "preempt", "shut_down", "lose_node", "delete", "vanish", "refuse_at_node")
"""Methods that disrupt a pod."""


class ClusterEvents:
    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation

    def pass_time(self, seconds: float) -> None:
        self.simulation.now += dt.timedelta(seconds=seconds)
        for pod in self.simulation.of("pods"):
            limit = pod["spec"].get("activeDeadlineSeconds")
            if limit is not None and pod["status"]["phase"] == "Running" and self._age(pod) >= limit:
                self._terminate(pod, "Failed", 143, reason="DeadlineExceeded")

    def _age(self, pod: Manifest) -> float:
        started = dt.datetime.fromisoformat(pod["status"]["startTime"])
        return (self.simulation.now - started).total_seconds()

    # The lifecycle of a pod

    def schedule(self, name: str) -> None:
        pod = self.simulation.pod(name)
        pod["spec"]["nodeName"] = "node-1"
        self._set_condition(pod, "PodScheduled", "True")

    def run(self, name: str, *, ready: bool = True) -> None:
        pod = self.simulation.pod(name)
        self.schedule(name)
        pod["status"].update(phase="Running", startTime=stamp(self.simulation.now))
        waited = pod["spec"].get("initContainers", [])
        pod["status"]["initContainerStatuses"] = [{"name": c["name"], "state": {"terminated": {"exitCode": 0}}} for c in waited]
        pod["status"]["containerStatuses"] = [
            {"name": container["name"], "ready": ready, "state": {"running": {"startedAt": stamp(self.simulation.now)}}}
            for container in pod["spec"]["containers"]
        ]
        self._set_condition(pod, "Ready", "True" if ready else "False")

    def run_all(self) -> None:
        """Run every pending pod."""
        for pod in self.simulation.of("pods"):
            if pod["status"]["phase"] == "Pending" and "deletionTimestamp" not in pod["metadata"]:
                self.run(pod["metadata"]["name"])

    def succeed(self, name: str) -> None:
        self._terminate(self.simulation.pod(name), "Succeeded", 0, reason="Completed")

    def fail(self, name: str, code: int = 1, *, message: str = "", reason: str = "Error") -> None:
        self._terminate(self.simulation.pod(name), "Failed", code, container_reason=reason, message=message)

    def run_out_of_memory(self, name: str) -> None:
        self.fail(name, 137, reason="OOMKilled")

    def restart_container(self, name: str, code: int = 1, message: str = "") -> None:
        """The kubelet restarts a failed container inside its pod."""
        for status in self.simulation.pod(name)["status"].get("containerStatuses", [])[:1]:
            ended = {"exitCode": code, "reason": "Error", "message": message, "finishedAt": stamp(self.simulation.now)}
            status["restartCount"] = status.get("restartCount", 0) + 1
            status["lastState"] = {"terminated": {**ended, **status["state"].get("running", {})}}
            status["state"] = {"running": {"startedAt": stamp(self.simulation.now)}}

    def _terminate(self, pod: Manifest, phase: str, code: int, **details: str) -> None:
        for status in pod["status"].get("containerStatuses", []):
            ended = {"exitCode": code, "reason": details.get("container_reason", ""), "message": details.get("message", "")}
            status.update(ready=False, state={"terminated": {**ended, "finishedAt": stamp(self.simulation.now)}})
        pod["status"].update(phase=phase, reason=details.get("reason", "") if phase == "Failed" else "")
        self._set_condition(pod, "Ready", "False")

    # Pods that do not start

    def wait(self, name: str, reason: str, message: str) -> None:
        """A container that the kubelet cannot start, for example because its image cannot be pulled."""
        self.schedule(name)
        pod = self.simulation.pod(name)
        first = pod["spec"]["containers"][0]["name"]
        pod["status"]["containerStatuses"] = [{"name": first, "state": {"waiting": {"reason": reason, "message": message}}}]

    def create_slowly(self, name: str, *events: tuple[str, str]) -> None:
        """A scheduled pod that does not start. Its events can be listed."""
        self.schedule(name)
        pod = self.simulation.pod(name)
        self.simulation.memory.pod_events[pod["metadata"]["uid"]] = tuple(PodWarning(*event) for event in events)

    def find_no_node(self, name: str, message: str = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.") -> None:
        self._set_condition(self.simulation.pod(name), "PodScheduled", "False", reason="Unschedulable", message=message)

    def fail_init(self, name: str, code: int = 1, message: str = "") -> None:
        self.schedule(name)
        ended = {"exitCode": code, "message": message}
        waiting = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}
        self.simulation.pod(name)["status"]["initContainerStatuses"] = [
            {"name": "init", "restartCount": 1, "state": waiting, "lastState": {"terminated": ended}}
        ]

    # Disruptions

    def evict(self, name: str) -> None:
        """Node pressure: the kubelet evicts the pod."""
        pod = self.simulation.pod(name)
        message = "The node was low on resource: memory."
        self._disrupted(pod, "TerminationByKubelet", message)
        self._terminate(pod, "Failed", 137)
        pod["status"].update(reason="Evicted", message=message)

    def evict_for_its_own_fault(self, name: str) -> None:
        pod = self.simulation.pod(name)
        message = 'Usage of EmptyDir volume "cache" exceeds the limit "1Gi". '
        self._disrupted(pod, "TerminationByKubelet", message)
        self._terminate(pod, "Failed", 137)
        pod["status"].update(reason="Evicted", message=message)

    def preempt(self, name: str) -> None:
        """The scheduler preempts the pod: it sets the condition and deletes the pod."""
        self._disrupted(self.simulation.pod(name), "PreemptionByScheduler", "preempting to accommodate a higher priority pod")
        self.delete(name)

    def shut_down(self, name: str) -> None:
        pod = self.simulation.pod(name)
        self._terminate(pod, "Failed", 143)
        pod["status"].update(reason="Terminated", message="Pod was terminated in response to imminent node shutdown.")

    def refuse_at_node(self, name: str) -> None:
        """The kubelet does not admit the pod."""
        self.schedule(name)
        text = "Node didn't have enough resource: nvidia.com/gpu"
        self.simulation.pod(name)["status"] = {"phase": "Failed", "reason": "OutOfnvidia.com/gpu", "message": text}

    def lose_node(self, name: str) -> None:
        """The taint manager deletes the pods of a dead node; no kubelet confirms the deletion."""
        self._disrupted(self.simulation.pod(name), "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint")
        self.delete(name)

    def stop_heartbeat(self, name: str) -> None:
        """The node is silent: its controller marks the pod as not ready, and leaves the condition of its containers."""
        pod = self.simulation.pod(name)
        self._set_condition(pod, "ContainersReady", "True")
        self._set_condition(pod, "Ready", "False")

    def delete(self, name: str, grace: int = GRACE) -> None:
        self.simulation.end(self.simulation.pod(name), grace)

    def vanish(self, name: str) -> None:
        """Deleted by force, or with its node."""
        self.simulation.remove(self.simulation.pod(name))

    def finish_deletions(self) -> None:
        """Kubelets end all terminating pods; the API server sees the last status of some of them."""
        for pod in self.simulation.of("pods"):
            if "deletionTimestamp" in pod["metadata"]:
                self.simulation.remove(pod)

    def stop_containers(self, name: str) -> None:
        """The containers of a terminating pod have ended with 143, the usual exit code after SIGTERM."""
        self._terminate(self.simulation.pod(name), "Failed", 143)

    # Other controllers and users

    def launch(self) -> None:
        """The Job controller: one pod at a time per Job, until one succeeds or too many have failed."""
        for batch in self.simulation.of("jobs"):
            status = batch.setdefault("status", {})
            members = [pod for pod in self.simulation.of("pods") if owner_uid(pod) == batch["metadata"]["uid"]]
            if status.get("conditions"):
                continue
            if batch["spec"].get("suspend"):
                for pod in members:
                    self.simulation.end(pod, 0)
                continue
            status.setdefault("startTime", stamp(self.simulation.now))
            self._next_launcher(batch, members)

    def _next_launcher(self, batch: Manifest, members: list[Manifest]) -> None:
        phases = [pod["status"]["phase"] for pod in members]
        if "Succeeded" in phases:
            batch["status"]["completionTime"] = stamp(self.simulation.now)
            batch["status"]["conditions"] = [{"type": "Complete", "status": "True"}]
        elif phases.count("Failed") > batch["spec"].get("backoffLimit", 6):
            text = "Job has reached the specified backoff limit"
            reason = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": text}
            batch["status"]["conditions"] = [reason]
        elif all(phase == "Failed" for phase in phases):
            ref = {"apiVersion": "batch/v1", "kind": "Job", "name": batch["metadata"]["name"], "uid": batch["metadata"]["uid"]}
            template = batch["spec"]["template"]
            meta = {**template["metadata"], "ownerReferences": [{**ref, "controller": True}]}
            name = f"{batch['metadata']['name']}-{len(phases)}"
            self.simulation.add(resources.PODS, name, {"metadata": meta, "spec": template["spec"]})

    def admit_gang(self) -> None:
        for group in self.simulation.of("podgroups"):
            group["status"] = {"phase": "Inqueue"}

    def edit(self, **fields: Any) -> None:
        """Merge these fields into the spec's run policy."""
        assert self.simulation.job is not None
        self.simulation.job["spec"].setdefault("runPolicy", {}).update(fields)

    def scale(self, role: str, replicas: int) -> None:
        assert self.simulation.job is not None
        self.simulation.job["spec"][self.simulation.kind.replicas_field][role]["replicas"] = replicas

    def _disrupted(self, pod: Manifest, reason: str, message: str) -> None:
        self._set_condition(pod, "DisruptionTarget", "True", reason=reason, message=message)

    def _set_condition(self, pod: Manifest, type_: str, status: str, **details: str) -> None:
        entries = [entry for entry in pod["status"].get("conditions", []) if entry["type"] != type_]
        entry = {"type": type_, "status": status, "lastTransitionTime": stamp(self.simulation.now), **details}
        pod["status"]["conditions"] = [*entries, entry]

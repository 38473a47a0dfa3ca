"""What happens to pods, nodes and the operator of a real cluster, and what becomes of the jobs."""

from __future__ import annotations

from tests.cluster.api import Object, eventually
from tests.kubelet.installed_operator import NAMESPACE as OPERATOR_NAMESPACE
from tests.kubelet.installed_operator import InstalledOperator
from tests.kubelet.jobs import LIMIT, NAMESPACE, UNTIL_FINISHED, Jobs, job, replicas
from tests.kubelet.kubernetes_node import NAME, KubernetesNode


def _patient(name: str, restart: str = "Never") -> Object:
    return job("JAXJob", name, {"Worker": replicas(2, "jax", "sh", "-c", UNTIL_FINISHED, restart=restart)})


def _workers(name: str) -> tuple[str, str]:
    return f"{name}-worker-0", f"{name}-worker-1"


def _started(jobs: Jobs, name: str, restart: str = "Never") -> dict[str, str]:
    jobs.create(_patient(name, restart))
    jobs.running(*_workers(name))
    jobs.wait("JAXJob", name, "Running")
    return jobs.pods(name)


def _finished(jobs: Jobs, name: str) -> Object:
    jobs.running(*_workers(name))
    jobs.finish(*_workers(name))
    return jobs.wait("JAXJob", name, "Succeeded")


def _replaced(jobs: Jobs, name: str, before: dict[str, str], pod: str) -> None:
    eventually(lambda: jobs.pods(name).get(pod) not in (None, before[pod]), LIMIT, f"{pod} is not replaced")


def test_pods_of_a_drained_node_are_recreated_and_nothing_is_charged(node: KubernetesNode, jobs: Jobs) -> None:
    before = _started(jobs, "drained")
    selector = "--pod-selector=training.kubeflow.org/job-name=drained"
    node.kubectl("drain", NAME, "--force", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=120s", selector)
    node.kubectl("uncordon", NAME)
    for pod in _workers("drained"):
        _replaced(jobs, "drained", before, pod)
    restarts = _finished(jobs, "drained")["restarts"]
    assert restarts["disruptions"] >= 1
    assert not restarts.get("charged")


def test_a_pod_that_the_kubelet_evicts_for_its_own_usage_fails_and_says_why(jobs: Jobs) -> None:
    """An eviction for the pod's own limit is no disruption: a new pod would exceed it again."""
    body = _patient("evicted")
    spec = body["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]
    spec["volumes"] = [{"name": "scratch", "emptyDir": {"sizeLimit": "5Mi"}}]
    spec["containers"][0]["volumeMounts"] = [{"name": "scratch", "mountPath": "/scratch"}]
    jobs.create(body)
    jobs.running(*_workers("evicted"))
    fill = "head -c 20000000 /dev/zero > /scratch/full"
    jobs.node.kubectl("exec", "-n", NAMESPACE, "evicted-worker-1", "--", "sh", "-c", fill)
    failure = jobs.wait("JAXJob", "evicted", "Failed")["failure"]
    assert (failure["reason"], failure["replica"]) == ("Evicted", "Worker 1")
    assert 'EmptyDir volume "scratch" exceeds the limit' in failure["message"]


def test_an_evicted_pod_is_recreated(node: KubernetesNode, jobs: Jobs) -> None:
    before = _started(jobs, "moved")
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "moved-worker-1", "namespace": NAMESPACE}}
    node.api.call("POST", f"/api/v1/namespaces/{NAMESPACE}/pods/moved-worker-1/eviction", eviction)
    _replaced(jobs, "moved", before, "moved-worker-1")
    restarts = _finished(jobs, "moved")["restarts"]
    assert restarts["disruptions"] == 1
    assert not restarts.get("charged")


def test_a_container_that_exceeds_its_memory_limit_is_named(jobs: Jobs) -> None:
    grow = "data = bytearray(400 << 20)\nfor at in range(0, len(data), 4096): data[at] = 1"
    worker = replicas(1, "jax", "python3", "-c", grow, resources={"limits": {"memory": "64Mi"}})
    jobs.create(job("JAXJob", "oom", {"Worker": worker}))
    status = jobs.wait("JAXJob", "oom", "Failed")
    assert (status["failure"]["reason"], status["failure"]["exitCode"]) == ("OOMKilled", 137)


def test_a_killed_container_is_restarted_in_its_pod(node: KubernetesNode, jobs: Jobs) -> None:
    before = _started(jobs, "killed", restart="OnFailure")
    node.ctr("tasks", "kill", "--signal", "SIGKILL", jobs.container_id("killed-worker-1"))
    eventually(lambda: jobs.pod("killed-worker-1")["status"]["containerStatuses"][0]["restartCount"] == 1, LIMIT)
    _finished(jobs, "killed")
    assert jobs.pods("killed") == before


def test_training_survives_a_killed_kubelet(node: KubernetesNode, jobs: Jobs) -> None:
    before = _started(jobs, "without-kubelet")
    node.kill("kubelet")
    node.start_kubelet()
    eventually(node.is_ready, LIMIT)
    _finished(jobs, "without-kubelet")
    assert jobs.pods("without-kubelet") == before


def test_training_survives_a_killed_operator(node: KubernetesNode, jobs: Jobs, operator: InstalledOperator) -> None:
    before = _started(jobs, "without-operator")
    (pod,) = operator.pods()
    node.ctr("tasks", "kill", "--signal", "SIGKILL", jobs.container_id(pod["metadata"]["name"], OPERATOR_NAMESPACE))
    eventually(lambda: operator.pods()[0]["status"]["containerStatuses"][0]["restartCount"] == 1, LIMIT)
    operator.wait_ready()
    _finished(jobs, "without-operator")
    assert jobs.pods("without-operator") == before


def test_a_job_on_a_lost_node_goes_on_when_there_is_a_node_again(
    node: KubernetesNode, jobs: Jobs, operator: InstalledOperator
) -> None:
    """The node takes the operator with it."""
    before = _started(jobs, "lost")
    node.kill("kubelet")
    node.kubectl("delete", "node", NAME)
    eventually(lambda: not before.items() & jobs.pods("lost").items(), LIMIT, "the pods of the lost node are not deleted")
    assert not jobs.condition("JAXJob", "lost", "Failed")
    node.start_kubelet()
    eventually(node.is_ready, LIMIT)
    operator.wait_ready()
    status = _finished(jobs, "lost")
    assert not status.get("restarts", {}).get("charged")

"""MPIJobs for tests, and access to their files and dependents."""

from __future__ import annotations

import itertools
from typing import Any

from tests.cluster import audit, manifests
from tests.cluster.api import Api, Object, eventually
from tests.cluster.submitted_job import SubmittedJob
from tools.kube import cluster


def job(workers: int | None = 2, run: Object | None = None, version: str = "v1", **spec: Any) -> Object:
    """An MPIJob `j`; keywords are further fields of its spec."""
    return manifests.job("MPIJob", version=version, run=run, spec=spec, Launcher=1, Worker=manifests.replicas("MPIJob", workers))


def template(body: Object, role: str) -> Object:
    """The pod spec of a role, to be changed in place."""
    found: Object = body["spec"]["mpiReplicaSpecs"][role]["template"]["spec"]
    return found


def container(body: Object, role: str) -> Object:
    found: Object = template(body, role)["containers"][0]
    return found


def policy(body: Object, role: str, name: str) -> Object:
    """The same job, with that restart policy for a role."""
    body["spec"]["mpiReplicaSpecs"][role]["restartPolicy"] = name
    return body


def files(job: SubmittedJob) -> dict[str, str]:
    """Wait for the ConfigMap and return its data."""
    found: Object = eventually(lambda: job.api.get("configmaps", job.namespace, f"{job.name}-config"))
    data: dict[str, str] = found["data"]
    return data


def discovered(job: SubmittedJob) -> list[str]:
    """The output of discover_hosts.sh."""
    return [line.removeprefix("echo ") for line in files(job)["discover_hosts.sh"].splitlines() if line.startswith("echo ")]


def scale(job: SubmittedJob, workers: int) -> None:
    job.patch({"mpiReplicaSpecs": {"Worker": {"replicas": workers}}})


def owned_by(entry: Object, job: SubmittedJob, version: str = "v1") -> bool:
    """Whether the job is the only owner and the controller."""
    owner = {"apiVersion": f"kubeflow.org/{version}", "kind": job.kind, "name": job.name, "uid": job.uid}
    return bool(entry["metadata"].get("ownerReferences") == [{**owner, "controller": True, "blockOwnerDeletion": True}])


def there(api: Api, plural: str, namespace: str, name: str) -> Object:
    """Wait for an object and return it."""
    found: Object = eventually(lambda: api.find(plural, namespace, name), because=f"there is no {name} among the {plural}")
    return found


def launcher_job(job: SubmittedJob) -> Object:
    """Wait for the batch Job of a v2beta1 launcher and return it."""
    return there(job.api, "jobs", job.namespace, f"{job.name}-launcher")


def launcher_template(job: SubmittedJob) -> Object:
    found: Object = launcher_job(job)["spec"]["template"]
    return found


def writes(kube: cluster.Cluster, since: int, namespace: str) -> list[tuple[str, str, str]]:
    """The writes of the operator to pods and files, in order, beginning with the files.

    What followed from an earlier change of the files may still have been under way when `since` was taken.
    """
    found = [
        (entry["verb"], entry["objectRef"]["resource"], entry["objectRef"]["name"])
        for entry in kube.audit(since)
        if entry["objectRef"].get("namespace") == namespace
        and entry["objectRef"]["resource"] in ("configmaps", "pods")
        and entry["verb"] in ("patch", "update", "delete")
        and audit.username(entry).endswith(":traincrew")
    ]
    return list(itertools.dropwhile(lambda write: write[1] != "configmaps", found))

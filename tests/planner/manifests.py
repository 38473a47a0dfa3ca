"""Jobs as users create them, named `j` in namespace `n`, as in the compatibility checklist."""

from __future__ import annotations

from typing import Any

import msgspec

from traincrew.kinds import KINDS
from traincrew.kinds.kind import JobKind

Manifest = dict[str, Any]

BY_NAME: dict[str, JobKind] = {kind.kind: kind for kind in KINDS}


def template(kind: JobKind, **container: Any) -> Manifest:
    return {"spec": {"containers": [{"name": kind.pods.container or "mpi", "image": "train:1", **container}]}}


def job(
    kind: str, *, restart: str | None = None, policy: Manifest | None = None, spec: Manifest | None = None, **roles: int
) -> Manifest:
    """A job with these numbers of replicas, all with the same restart policy."""
    found = BY_NAME[kind]
    replicas: Manifest = {}
    for role, count in roles.items():
        replicas[role] = {"replicas": count, "template": template(found)}
        if restart is not None:
            replicas[role]["restartPolicy"] = restart
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": kind,
        "metadata": {"name": "j", "namespace": "n", "uid": "job-uid", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {found.replicas_field: replicas, "runPolicy": policy or {}, **(spec or {})},
    }


def encoded(manifest: Manifest) -> bytes:
    return msgspec.json.encode(manifest)


def ssh_job(**details: Any) -> Manifest:
    """An MPIJob created through v2beta1, whose schema sets the mount path."""
    details["spec"] = {"sshAuthMountPath": "/root/.ssh", **details.get("spec", {})}
    return job("MPIJob", **details)

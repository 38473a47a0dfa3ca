"""The ConfigMap that a launcher mounts: its digest makes the kubelet refresh the mounted files at once."""

from __future__ import annotations

import hashlib
import json

from traincrew.model import naming, resources
from traincrew.planner.actions import Action, Patch
from traincrew.planner.replicas import Replicas


def config_digest(replicas: Replicas) -> str:
    """Identifies the content of the ConfigMap that the launcher mounts."""
    for item in replicas.kind.dependents.build(replicas.job, replicas.observed):
        if item.resource == resources.CONFIG_MAPS:
            text = json.dumps(item.body["data"], sort_keys=True)
            return hashlib.sha256(text.encode()).hexdigest()[:16]
    return ""


def refresh(replicas: Replicas) -> list[Action]:
    """Annotate launchers whose mounted files are older than the ConfigMap: a kubelet refreshes the files when the pod changes."""
    launchers = [slot.pod for slot in replicas.slots if not slot.replica.role.indexed and slot.pod is not None]
    running = [entry for entry in (*launchers, *replicas.delegated_pods) if entry.active]
    if not running:
        return []
    digest = config_digest(replicas)
    return [
        Patch(resources.PODS, entry.name, {"metadata": {"annotations": {naming.CONFIG_DIGEST: digest}}})
        for entry in running
        if digest and entry.metadata.annotations.get(naming.CONFIG_DIGEST) != digest
    ]

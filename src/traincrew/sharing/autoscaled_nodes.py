"""Nodes of an autoscaler that nothing but workers on idle capacity uses: the workers leave, so that the nodes can be removed.

The cluster autoscaler removes nodes regardless of pods with so low a priority. Karpenter does not, and marks its nodes.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping

from traincrew.model import naming
from traincrew.model.meta import Time
from traincrew.scheduling.objects import Node
from traincrew.scheduling.pod_info import PodInfo
from traincrew.sharing.cluster_snapshot import ClusterSnapshot
from traincrew.sharing.policy import SharingPolicy

KARPENTER_LABELS = ("karpenter.sh/nodepool", "karpenter.sh/provisioner-name")


def unused_since(snapshot: ClusterSnapshot, now: Time) -> dict[str, Time]:
    """The nodes of an autoscaler on which there is no pod that keeps them, with the time since when."""
    nodes = {node.name for node in snapshot.nodes if _is_autoscaled(node, snapshot.policy)}
    nodes -= {pod.spec.node_name for pod in snapshot.pods if _keeps_node(pod)} if nodes else set()
    return {name: snapshot.history.unused_since.get(name, now) for name in sorted(nodes)}


def withdrawal_times(since: Mapping[str, Time], pods: Collection[PodInfo], policy: SharingPolicy) -> dict[str, Time]:
    """When workers on idle capacity leave the nodes that nobody else uses."""
    used = {pod.spec.node_name for pod in pods} & since.keys() if since else set()
    return {name: since[name] + dt.timedelta(seconds=policy.withdraw_after) for name in used}


def _is_autoscaled(node: Node, policy: SharingPolicy) -> bool:
    labelled = any(key in node.metadata.labels for key in KARPENTER_LABELS)
    return policy.autoscaled == "yes" or (policy.autoscaled == "auto" and labelled)


def _keeps_node(pod: PodInfo) -> bool:
    """Workers on idle capacity, pods of DaemonSets, and static pods, which their Node owns, do not."""
    owner = pod.metadata.controller
    return naming.SURPLUS not in pod.metadata.labels and (owner is None or owner.kind not in ("DaemonSet", "Node"))

"""The strategies by kind."""

from __future__ import annotations

from traincrew.embedded.apiserver.registry.builtin import (
    autoscalers,
    cluster_objects,
    config,
    cron_jobs,
    endpoints,
    events,
    jobs,
    persistent_volume_claims,
    persistent_volumes,
    policies,
    rbac_objects,
    services,
    workloads,
)
from traincrew.embedded.apiserver.registry.builtin.pods import strategy as pods_strategy
from traincrew.embedded.apiserver.registry.builtin.strategy import DEFAULT_STRATEGY, Strategy

_STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("", "Pod"): pods_strategy.POD,
    ("", "Service"): services.SERVICE,
    ("", "ConfigMap"): config.CONFIG_MAP,
    ("", "Secret"): config.SECRET,
    ("", "ServiceAccount"): cluster_objects.SERVICE_ACCOUNT,
    ("", "Namespace"): cluster_objects.NAMESPACE,
    ("", "Node"): cluster_objects.NODE,
    ("", "Event"): events.EVENT,
    ("events.k8s.io", "Event"): events.NEWER_EVENT,
    ("coordination.k8s.io", "Lease"): cluster_objects.LEASE,
    ("", "PersistentVolume"): persistent_volumes.VOLUME,
    ("", "PersistentVolumeClaim"): persistent_volume_claims.CLAIM,
    ("", "Endpoints"): endpoints.ENDPOINTS,
    ("discovery.k8s.io", "EndpointSlice"): endpoints.ENDPOINT_SLICE,
    ("", "LimitRange"): policies.LIMIT_RANGE,
    ("", "ResourceQuota"): policies.RESOURCE_QUOTA,
    ("batch", "Job"): jobs.JOB,
    ("batch", "CronJob"): cron_jobs.CRON_JOB,
    ("apps", "Deployment"): workloads.DEPLOYMENT,
    ("apps", "ReplicaSet"): workloads.REPLICA_SET,
    ("", "ReplicationController"): workloads.REPLICATION_CONTROLLER,
    ("apps", "StatefulSet"): workloads.STATEFUL_SET,
    ("apps", "DaemonSet"): workloads.DAEMON_SET,
    ("rbac.authorization.k8s.io", "Role"): rbac_objects.ROLE,
    ("rbac.authorization.k8s.io", "ClusterRole"): rbac_objects.CLUSTER_ROLE,
    ("rbac.authorization.k8s.io", "RoleBinding"): rbac_objects.ROLE_BINDING,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): rbac_objects.CLUSTER_ROLE_BINDING,
    ("autoscaling", "HorizontalPodAutoscaler"): autoscalers.AUTOSCALER,
    ("scheduling.k8s.io", "PriorityClass"): policies.PRIORITY_CLASS,
    ("storage.k8s.io", "StorageClass"): persistent_volumes.STORAGE_CLASS,
    ("policy", "PodDisruptionBudget"): policies.DISRUPTION_BUDGET,
}


def strategy(group: str, kind: str) -> Strategy:
    return _STRATEGIES.get((group, kind), DEFAULT_STRATEGY)

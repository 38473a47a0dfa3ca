"""Which strategy a kind has."""

from __future__ import annotations

from traincrew.embedded.builtin import (
    autoscaling,
    claims,
    cluster,
    config,
    cronjobs,
    endpoints,
    events,
    jobs,
    podtemplates,
    policies,
    rbac,
    services,
    storage,
    workloads,
)
from traincrew.embedded.builtin.pods import strategies
from traincrew.embedded.builtin.strategy import NEUTRAL, Strategy

_STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("", "Pod"): strategies.POD,
    ("", "PodTemplate"): podtemplates.POD_TEMPLATE,
    ("", "Service"): services.SERVICE,
    ("", "ConfigMap"): config.CONFIG_MAP,
    ("", "Secret"): config.SECRET,
    ("", "ServiceAccount"): cluster.SERVICE_ACCOUNT,
    ("", "Namespace"): cluster.NAMESPACE,
    ("", "Node"): cluster.NODE,
    ("", "Event"): events.EVENT,
    ("events.k8s.io", "Event"): events.NEWER_EVENT,
    ("coordination.k8s.io", "Lease"): cluster.LEASE,
    ("", "PersistentVolume"): storage.VOLUME,
    ("", "PersistentVolumeClaim"): claims.CLAIM,
    ("", "Endpoints"): endpoints.ENDPOINTS,
    ("discovery.k8s.io", "EndpointSlice"): endpoints.ENDPOINT_SLICE,
    ("", "LimitRange"): policies.LIMIT_RANGE,
    ("", "ResourceQuota"): policies.RESOURCE_QUOTA,
    ("batch", "Job"): jobs.JOB,
    ("batch", "CronJob"): cronjobs.CRON_JOB,
    ("apps", "Deployment"): workloads.DEPLOYMENT,
    ("apps", "ReplicaSet"): workloads.REPLICA_SET,
    ("", "ReplicationController"): workloads.REPLICATION_CONTROLLER,
    ("apps", "StatefulSet"): workloads.STATEFUL_SET,
    ("apps", "DaemonSet"): workloads.DAEMON_SET,
    ("rbac.authorization.k8s.io", "Role"): rbac.ROLE,
    ("rbac.authorization.k8s.io", "ClusterRole"): rbac.CLUSTER_ROLE,
    ("rbac.authorization.k8s.io", "RoleBinding"): rbac.ROLE_BINDING,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): rbac.CLUSTER_ROLE_BINDING,
    ("autoscaling", "HorizontalPodAutoscaler"): autoscaling.AUTOSCALER,
    ("scheduling.k8s.io", "PriorityClass"): policies.PRIORITY_CLASS,
    ("storage.k8s.io", "StorageClass"): storage.STORAGE_CLASS,
    ("policy", "PodDisruptionBudget"): policies.DISRUPTION_BUDGET,
}


def strategy(group: str, kind: str) -> Strategy:
    return _STRATEGIES.get((group, kind), NEUTRAL)

"""The strategies by kind."""

from __future__ import annotations

from traincrew.embedded.apiserver.registry.builtin.apps import daemon_sets, deployments, replica_sets, stateful_sets
from traincrew.embedded.apiserver.registry.builtin.autoscaling import autoscalers
from traincrew.embedded.apiserver.registry.builtin.batch import cron_jobs, jobs
from traincrew.embedded.apiserver.registry.builtin.coordination import leases
from traincrew.embedded.apiserver.registry.builtin.core import (
    config_maps,
    endpoints,
    events,
    limit_ranges,
    namespaces,
    nodes,
    persistent_volume_claims,
    persistent_volumes,
    replication_controllers,
    resource_quotas,
    secrets,
    service_accounts,
    services,
)
from traincrew.embedded.apiserver.registry.builtin.core.pods import strategy as pods_strategy
from traincrew.embedded.apiserver.registry.builtin.discovery import endpoint_slices
from traincrew.embedded.apiserver.registry.builtin.networking import ingresses, network_policies
from traincrew.embedded.apiserver.registry.builtin.policy import pod_disruption_budgets
from traincrew.embedded.apiserver.registry.builtin.rbac import role_bindings, roles
from traincrew.embedded.apiserver.registry.builtin.scheduling import priority_classes
from traincrew.embedded.apiserver.registry.builtin.storage import storage_classes
from traincrew.embedded.apiserver.registry.builtin.strategy import DEFAULT_STRATEGY, Strategy

_STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("", "Pod"): pods_strategy.POD,
    ("", "Service"): services.SERVICE,
    ("", "ConfigMap"): config_maps.CONFIG_MAP,
    ("", "Secret"): secrets.SECRET,
    ("", "ServiceAccount"): service_accounts.SERVICE_ACCOUNT,
    ("", "Namespace"): namespaces.NAMESPACE,
    ("", "Node"): nodes.NODE,
    ("", "Event"): events.EVENT,
    ("events.k8s.io", "Event"): events.NEWER_EVENT,
    ("coordination.k8s.io", "Lease"): leases.LEASE,
    ("", "PersistentVolume"): persistent_volumes.VOLUME,
    ("", "PersistentVolumeClaim"): persistent_volume_claims.CLAIM,
    ("", "Endpoints"): endpoints.ENDPOINTS,
    ("discovery.k8s.io", "EndpointSlice"): endpoint_slices.ENDPOINT_SLICE,
    ("", "LimitRange"): limit_ranges.LIMIT_RANGE,
    ("", "ResourceQuota"): resource_quotas.RESOURCE_QUOTA,
    ("batch", "Job"): jobs.JOB,
    ("batch", "CronJob"): cron_jobs.CRON_JOB,
    ("apps", "Deployment"): deployments.DEPLOYMENT,
    ("apps", "ReplicaSet"): replica_sets.REPLICA_SET,
    ("", "ReplicationController"): replication_controllers.REPLICATION_CONTROLLER,
    ("apps", "StatefulSet"): stateful_sets.STATEFUL_SET,
    ("apps", "DaemonSet"): daemon_sets.DAEMON_SET,
    ("rbac.authorization.k8s.io", "Role"): roles.ROLE,
    ("rbac.authorization.k8s.io", "ClusterRole"): roles.CLUSTER_ROLE,
    ("rbac.authorization.k8s.io", "RoleBinding"): role_bindings.ROLE_BINDING,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): role_bindings.CLUSTER_ROLE_BINDING,
    ("autoscaling", "HorizontalPodAutoscaler"): autoscalers.AUTOSCALER,
    ("scheduling.k8s.io", "PriorityClass"): priority_classes.PRIORITY_CLASS,
    ("storage.k8s.io", "StorageClass"): storage_classes.STORAGE_CLASS,
    ("networking.k8s.io", "Ingress"): ingresses.INGRESS,
    ("networking.k8s.io", "NetworkPolicy"): network_policies.NETWORK_POLICY,
    ("policy", "PodDisruptionBudget"): pod_disruption_budgets.DISRUPTION_BUDGET,
}


def strategy(group: str, kind: str) -> Strategy:
    return _STRATEGIES.get((group, kind), DEFAULT_STRATEGY)

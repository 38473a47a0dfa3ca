"""Prometheus metrics: the Go operators' counters, and those of this operator."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

_LABELS = ("job_namespace", "framework")
_SECONDS = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300)
_AMOUNT_LABELS = ("resource", "unit")
"""The unit is core, byte or integer, as in kube-state-metrics."""
_LEGACY = (
    ("created_pods", "pods", "Pods created"),
    ("deleted_pods", "pods", "Pods deleted"),
    ("created_pod_groups", "podgroups", "PodGroups created"),
    ("deleted_pod_groups", "podgroups", "PodGroups deleted"),
    ("succeeded_service_creation", "services", "Services created"),
    ("failed_service_creation", "services", "Services that the API server rejected"),
)
"""Name, counted resource and help of the counters without a prefix."""
_JOB_COUNTERS = ("created", "deleted", "successful", "failed", "restarted")


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._jobs = {
            name: Counter(f"training_operator_jobs_{name}", f"Number of {name} jobs", _LABELS, registry=self.registry)
            for name in _JOB_COUNTERS
        }
        self.before_scrape: list[Callable[[], None]] = []
        """Called before the metrics are read."""
        self._register_objects()
        self._register_requests()
        self._register_operators()
        self._register_elastic()
        self._register_elastic_capacity()
        self._register_legacy()

    def _register_objects(self) -> None:
        self._objects_created = Counter(
            "traincrew_objects_created", "Objects that the operator created for jobs", ("resource",), registry=self.registry
        )
        self._objects_deleted = Counter(
            "traincrew_objects_deleted", "Objects of jobs that the operator deleted", ("resource",), registry=self.registry
        )
        self._objects_refused = Counter(
            "traincrew_objects_refused", "Create requests that the API server rejected", ("resource",), registry=self.registry
        )

    def _register_requests(self) -> None:
        self._requests = Counter(
            "traincrew_api_requests", "Requests to the API server", ("verb", "resource", "code"), registry=self.registry
        )
        self._request_seconds = Histogram(
            "traincrew_api_request_seconds", "Duration of requests to the API server", ("verb",), registry=self.registry
        )
        self._reconcile_seconds = Histogram(
            "traincrew_reconcile_seconds", "Duration of one reconciliation of a job", ("framework",), registry=self.registry
        )
        self._reconcile_errors = Counter(
            "traincrew_reconcile_errors", "Reconciliations that failed and were retried", ("framework",), registry=self.registry
        )

    def _register_operators(self) -> None:
        self.queue_depth = Gauge("traincrew_queue_depth", "Jobs in the work queue", registry=self.registry)
        self.leading = Gauge(
            "traincrew_is_leader",
            "1 while this process reconciles jobs, 0 while it waits. The labels name the Lease of the leader election, which the "
            "replicas of one release share",
            ("lease_namespace", "lease"),
            registry=self.registry,
        )
        self.other_operators = Gauge(
            "traincrew_other_operator_running",
            "1 while this Go operator is running. The jobs of its kinds are not reconciled then",
            ("operator",),
            registry=self.registry,
        )

    def _register_elastic(self) -> None:
        self.worker_seconds = Counter(
            "traincrew_elastic_worker_seconds",
            "Time of the workers of elastic jobs whose number of workers the operator chooses, by part: asked (running, up to "
            "replicas), surplus (running on idle capacity), starting, leaving, waiting (without a node)",
            (*_LABELS, "part"),
            registry=self.registry,
        )
        self.redone_worker_seconds = Counter(
            "traincrew_elastic_redone_worker_seconds",
            "Time that running workers of elastic jobs spent on repeating work since the last checkpoint, estimated from the "
            "annotations of the jobs. It is included in the parts asked and surplus of traincrew_elastic_worker_seconds_total",
            _LABELS,
            registry=self.registry,
        )
        self.resizes = Counter(
            "traincrew_elastic_resizes",
            "Changes of the number of workers that the operator made",
            (*_LABELS, "reason"),
            registry=self.registry,
        )
        self.surplus_refused = Counter(
            "traincrew_elastic_surplus_refused",
            "Workers for idle capacity that the scheduler found no node for",
            registry=self.registry,
        )

    def _register_elastic_capacity(self) -> None:
        self.idle = Gauge(
            "traincrew_elastic_idle",
            "Allocatable resources of all nodes that no pod requests, while the operator chooses the number of workers of a job",
            _AMOUNT_LABELS,
            registry=self.registry,
        )
        self.lent = Gauge(
            "traincrew_elastic_lent",
            "Resources that workers on idle capacity request",
            _AMOUNT_LABELS,
            registry=self.registry,
        )
        self.demands = Gauge(
            "traincrew_elastic_demands",
            "Jobs and other owners whose pods are pending because resources are missing",
            registry=self.registry,
        )
        self.give_back_seconds = Histogram(
            "traincrew_elastic_give_back_seconds",
            "Time from the decision to remove a worker in favour of pending pods until its pod is deleted",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.fill_seconds = Histogram(
            "traincrew_elastic_fill_seconds",
            "Time from the decision to add a worker on idle capacity until it runs",
            buckets=_SECONDS,
            registry=self.registry,
        )

    def _register_legacy(self) -> None:
        """The counters of the Go operator."""
        self._legacy = {
            name: (Counter(name, f"{text} (counter of the Go training operator)", registry=self.registry), plural)
            for name, plural, text in _LEGACY
        }

    def milestone(self, name: str, namespace: str, framework: str) -> None:
        self._jobs[name].labels(namespace, framework).inc()

    def created(self, plural: str) -> None:
        self._objects_created.labels(plural).inc()
        self._count_as_go("created_pods", "created_pod_groups", "succeeded_service_creation", plural=plural)

    def deleted(self, plural: str) -> None:
        self._objects_deleted.labels(plural).inc()
        self._count_as_go("deleted_pods", "deleted_pod_groups", plural=plural)

    def rejected(self, plural: str) -> None:
        self._objects_refused.labels(plural).inc()
        self._count_as_go("failed_service_creation", plural=plural)

    def _count_as_go(self, *names: str, plural: str) -> None:
        for name in names:
            counter, of = self._legacy[name]
            if of == plural:
                counter.inc()

    def request(self, verb: str, plural: str, code: int, seconds: float) -> None:
        self._requests.labels(verb, plural, str(code)).inc()
        if verb != "watch":
            self._request_seconds.labels(verb).observe(seconds)

    def reconciled(self, framework: str, seconds: float) -> None:
        self._reconcile_seconds.labels(framework).observe(seconds)

    def reconcile_failed(self, framework: str) -> None:
        self._reconcile_errors.labels(framework).inc()

    def text(self) -> bytes:
        for refresh in self.before_scrape:
            refresh()
        return generate_latest(self.registry)

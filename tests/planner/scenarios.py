"""Initial states for tests: a job whose pods all run, and a job that has recovered from a loss."""

from __future__ import annotations

from tests.planner import manifests
from tests.planner.cluster_events import ClusterEvents
from tests.planner.manifests import Manifest
from tests.planner.simulation import Simulation, owner_uid

from traincrew import settings


def posted(job: Manifest, gang_scheduler: str = "") -> tuple[Simulation, ClusterEvents]:
    """A simulation in which only the operator has acted on a new job."""
    simulation = Simulation(manifests.BY_NAME[job["kind"]], job, settings.Planning(gang_scheduler=gang_scheduler))
    simulation.settle()
    return simulation, ClusterEvents(simulation)


def started(job: Manifest) -> tuple[Simulation, ClusterEvents]:
    """A simulation in which every pod of the job runs."""
    simulation, cluster = posted(job)
    recover(simulation, cluster)
    return simulation, cluster


def recover(simulation: Simulation, cluster: ClusterEvents) -> None:
    """Deletions finish, back-off delays pass, new pods run."""
    for _ in range(4):
        plan = simulation.settle()
        cluster.finish_deletions()
        if plan.requeue_at is not None and simulation.status.get("restarts", {}).get("retryAt"):
            cluster.pass_time((plan.requeue_at - simulation.now).total_seconds())
        simulation.settle()
        cluster.pass_time(1)
        cluster.launch()
        cluster.run_all()
    simulation.settle()


def restart_counts(simulation: Simulation) -> tuple[int, int]:
    entries = simulation.status.get("restarts", {})
    return entries.get("charged", 0), entries.get("disruptions", 0)


def own_pods(simulation: Simulation) -> list[str]:
    return sorted(pod["metadata"]["name"] for pod in simulation.of("pods") if owner_uid(pod) == simulation.uid)

"""Openings that many tests share: a job whose pods all run, and one that has recovered from what befell it."""

from __future__ import annotations

from tests.planner import manifests
from tests.planner.cluster import Cluster
from tests.planner.manifests import Manifest
from tests.planner.world import World, owner_uid

from traincrew import settings


def posted(job: Manifest, gang_scheduler: str = "") -> tuple[World, Cluster]:
    """A world in which the operator has acted on a new job, and nobody else has yet."""
    world = World(manifests.BY_NAME[job["kind"]], job, settings.Planning(gang_scheduler=gang_scheduler))
    world.settle()
    return world, Cluster(world)


def started(job: Manifest) -> tuple[World, Cluster]:
    """A world in which every pod of the job runs."""
    world, cluster = posted(job)
    recover(world, cluster)
    return world, cluster


def recover(world: World, cluster: Cluster) -> None:
    """Deleted pods go, delays pass, new pods run."""
    for _ in range(4):
        plan = world.settle()
        cluster.finish_deletions()
        if plan.requeue_at is not None and world.status.get("restarts", {}).get("retryAt"):
            cluster.pass_time((plan.requeue_at - world.now).total_seconds())
        world.settle()
        cluster.pass_time(1)
        cluster.launch()
        cluster.run_all()
    world.settle()


def book(world: World) -> tuple[int, int]:
    entries = world.status.get("restarts", {})
    return entries.get("charged", 0), entries.get("disruptions", 0)


def own_pods(world: World) -> list[str]:
    return sorted(pod["metadata"]["name"] for pod in world.of("pods") if owner_uid(pod) == world.uid)

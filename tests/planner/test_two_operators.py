"""Two operators at once: a loss that one of them has recorded is not recorded again by the other."""

from __future__ import annotations

import dataclasses

from tests.planner import manifests, scenarios

from traincrew.planner.plan import plan


def test_a_vanished_pod_that_was_replaced_was_recorded_by_the_operator_that_replaced_it() -> None:
    simulation, cluster = scenarios.started(manifests.job("PyTorchJob", Master=1, Worker=1))
    seen = simulation.observed()
    lost = next(pod for pod in seen.pods if pod.name == "j-worker-0")
    cluster.delete("j-worker-0")
    scenarios.recover(simulation, cluster)
    once = scenarios.restart_counts(simulation)

    # The other operator saw the deletion of the old pod, but not the status with its UID.
    late = dataclasses.replace(simulation.observed(), vanished=(lost,))
    again = plan(simulation.kind, simulation.stored, late, simulation.now)

    assert once == (0, 1)
    assert again.status is None or again.status.restarts.disruptions == 1

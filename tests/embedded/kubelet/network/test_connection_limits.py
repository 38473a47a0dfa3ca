"""Connections of pods: each pod has a limit, and a pod with many connections does not keep others from connecting."""

from __future__ import annotations

import dataclasses

from traincrew.embedded.kubelet.network.connection_limits import ConnectionLimits


@dataclasses.dataclass(eq=False)
class Connection:
    aborted: bool = False

    def abort(self) -> None:
        self.aborted = True


def test_a_pod_has_a_limited_number_of_connections() -> None:
    limits = ConnectionLimits[Connection](total=10, of_client=2)
    first = Connection()
    assert [limits.add("10.0.0.2", each) for each in (first, Connection(), Connection())] == [True, True, False]
    limits.remove("10.0.0.2", first)
    assert limits.add("10.0.0.2", Connection())


def test_a_pod_with_most_connections_gives_way_to_others() -> None:
    limits = ConnectionLimits[Connection](total=3, of_client=3)
    many = [Connection() for _ in range(3)]
    assert all(limits.add("10.0.0.2", each) for each in many)
    assert not limits.add("10.0.0.2", Connection())
    assert limits.add("10.0.0.3", Connection())
    assert [each.aborted for each in many] == [True, False, False]

"""The logs of the containers of a pod."""

from __future__ import annotations

from traincrew.console.contract.logs import LogSource
from traincrew.console.view.log_lines import Source
from traincrew.inspection import container_runs
from traincrew.kinds.kind import JobKind
from traincrew.model import objects


def containers(kind: JobKind, pod: objects.Pod, wanted: str = "") -> list[str]:
    """The containers that have started, without the init containers that the operator adds."""
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    started = [each.name for each in statuses if container_runs.run(pod, each.name) != container_runs.NONE]
    if wanted:
        return [name for name in started if name == wanted]
    return [name for name in started if name not in kind.wait_containers]


def message(pod: objects.Pod, source: Source, error: str = "", *, ended: bool | None = None) -> LogSource:
    """ended None: as the status of the pod says."""
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    status = next((each for each in statuses if each.name == source.container), objects.ContainerStatus())
    over = container_runs.is_last(pod, source.container) if ended is None else ended
    end = (status.state.terminated or status.last_state.terminated) if over else None
    return LogSource(
        source=source.name,
        replica=source.replica,
        container=source.container,
        pod=pod.name,
        ended=over,
        exit_code=end.exit_code if end is not None else None,
        reason=end.reason if end is not None else "",
        error=error,
    )

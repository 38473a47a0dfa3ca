"""An operator as a Deployment whose pods are processes of this machine: the test is the kubelet of its pods.

A process runs while its pod exists. It gets SIGTERM when the pod is deleted, and the pod is gone when the process has ended.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Iterator

from tests.cluster import installed_operators
from tests.cluster.api import Api, Object
from tests.cluster.fake_kubelet import FakeKubelet
from tools.kube import cluster

Start = Callable[[], contextlib.AbstractContextManager[object]]
PERIOD = 0.1


@dataclasses.dataclass(frozen=True)
class DeployedOperator:
    name: str
    labels: dict[str, str]
    start: Start
    """The program within a block."""
    is_ready: Callable[[object], bool]
    """The readiness probe of the pod."""
    args: tuple[str, ...] = ()
    namespace: str = installed_operators.NAMESPACE


class Kubelet:
    """Runs the pods of one Deployment, in a thread."""

    def __init__(self, api: Api, operator: DeployedOperator) -> None:
        self._api, self._operator = api, operator
        self._kubelet = FakeKubelet(api, operator.namespace)
        self._running: dict[str, tuple[contextlib.ExitStack, object]] = {}
        self._ready: set[str] = set()
        self._ended = threading.Event()
        self.error: BaseException | None = None

    def loop(self) -> None:
        try:
            while not self._ended.wait(PERIOD):
                self._sync()
        except BaseException as error:
            self.error = error
            raise

    def _sync(self) -> None:
        selector = ",".join(f"{key}={value}" for key, value in self._operator.labels.items())
        for pod in self._api.all("pods", self._operator.namespace, selector):
            name = pod["metadata"]["name"]
            if pod["metadata"].get("deletionTimestamp"):
                self._stop(name)
                self._kubelet.gone(name)
            elif name not in self._running:
                self._start(name)
            elif name not in self._ready and self._operator.is_ready(self._running[name][1]):
                self._kubelet.run(name)
                self._ready.add(name)

    def _start(self, name: str) -> None:
        self._kubelet.run(name, ready=False)
        stack = contextlib.ExitStack()
        self._running[name] = (stack, stack.enter_context(self._operator.start()))

    def _stop(self, name: str) -> None:
        if name in self._running:
            self._running.pop(name)[0].close()

    def end(self) -> None:
        self._ended.set()
        for name in list(self._running):
            self._stop(name)

    @property
    def processes(self) -> list[object]:
        return [process for _, process in self._running.values()]


@contextlib.contextmanager
def deployed(kube: cluster.Cluster, api: Api, operator: DeployedOperator) -> Iterator[Kubelet]:
    body: Object = installed_operators.deployment(operator.name, operator.labels, *operator.args, namespace=operator.namespace)
    installed_operators.apply(kube, body)
    kubelet = Kubelet(api, operator)
    thread = threading.Thread(target=kubelet.loop)
    thread.start()
    try:
        yield kubelet
        assert kubelet.error is None, kubelet.error
    finally:
        kubelet.end()
        thread.join()

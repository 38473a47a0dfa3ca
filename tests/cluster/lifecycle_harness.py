"""Records the lifecycles of jobs in parallel, with forked operators behind a fault-injecting proxy."""

from __future__ import annotations

import contextlib
import dataclasses
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import requests
from tests.cluster import forked_operators, lifecycle, proxy, watch_cache
from tests.cluster.api import Api, Object, RejectedRequest
from tests.cluster.lifecycle import FinalState, KindVersion, LifecycleDriver
from tests.cluster.proxy import ProxiedCall, ProxyPort
from tools.kube import cluster

Target = Callable[[ProxiedCall], bool]
Disturbance = Callable[[ProxyPort], contextlib.AbstractContextManager[object]]


@dataclasses.dataclass(frozen=True)
class LifecycleRecording:
    final_state: FinalState
    calls: tuple[ProxiedCall, ...]
    """The requests of all operators."""
    tag: str
    killed_at: ProxiedCall | None = None
    """The request at which the operator was killed."""


class RetryingApi(Api):
    """Retries while the API server is unavailable."""

    def call(self, verb: str, path: str, body: Any = None, content: str = "application/json", **query: str) -> Object:
        for _ in range(300):
            try:
                return super().call(verb, path, body, content, **query)
            except requests.ConnectionError:
                time.sleep(0.1)
            except RejectedRequest as refused:
                if refused.code not in (403, 429, 500, 503):  # a server that has just started has no roles yet
                    raise
                time.sleep(0.1)
        return super().call(verb, path, body, content, **query)


class LifecycleHarness:
    def __init__(
        self, kube: cluster.Cluster, served: proxy.Proxy, parent: forked_operators.ForkServer, look: watch_cache.WatchCache
    ) -> None:
        self.kube, self.proxy, self.parent, self.cache = kube, served, parent, look
        self._local = threading.local()

    @property
    def api(self) -> Api:
        """The client of this thread."""
        if not hasattr(self._local, "api"):
            self._local.api = RetryingApi(self.kube.kubeconfig)
        found: Api = self._local.api
        return found

    @contextlib.contextmanager
    def driver(self) -> Iterator[LifecycleDriver]:
        driver = LifecycleDriver(self.api, self.cache)
        try:
            yield driver
        finally:
            driver.close()

    def operator(
        self, proxy_port: ProxyPort, driver: LifecycleDriver, kind: KindVersion, *flags: str
    ) -> forked_operators.ForkedOperator:
        flags = ("--namespace", driver.namespace, "--enable-scheme", kind.kind, *flags)
        return self.parent.operator(self.proxy.kubeconfig(proxy_port), *flags)

    def record(self, kind: KindVersion) -> LifecycleRecording:
        """Without disturbances."""
        return self.record_with(kind, {}, lambda proxy_port: contextlib.nullcontext())

    def record_with(self, kind: KindVersion, events: lifecycle.EventCounts, disturbance: Disturbance) -> LifecycleRecording:
        """With a disturbance during the whole lifecycle. Waits for the expected events at the end."""
        with self.driver() as driver, self.proxy.proxy_port() as proxy_port:
            with disturbance(proxy_port), self._operator_running(proxy_port, driver, kind):
                driver.run(kind)
                wait_for_events(driver, kind, events)
            return LifecycleRecording(lifecycle.final_state(driver, kind), tuple(proxy_port.calls), proxy_port.tag)

    def record_together(self, kind: KindVersion, events: lifecycle.EventCounts, count: int = 2) -> LifecycleRecording:
        """With several operators at once, without leader election."""
        with self.driver() as driver, self.proxy.proxy_port() as proxy_port:
            with contextlib.ExitStack() as stack:
                for _ in range(count):
                    stack.enter_context(self._operator_running(proxy_port, driver, kind))
                driver.run(kind)
                wait_for_events(driver, kind, events)
            return LifecycleRecording(lifecycle.final_state(driver, kind), tuple(proxy_port.calls), proxy_port.tag)

    @contextlib.contextmanager
    def _operator_running(self, proxy_port: ProxyPort, driver: LifecycleDriver, kind: KindVersion) -> Iterator[None]:
        """An operator that is stopped with SIGTERM. Its log is printed on failure."""
        operator = self.operator(proxy_port, driver, kind)
        try:
            yield
        except BaseException:
            print(operator.log[-5000:])
            raise
        finally:
            operator.signal(signal.SIGTERM)
            operator.wait()

    def record_with_kill(
        self, kind: KindVersion, target: Target, after: bool, events: lifecycle.EventCounts
    ) -> LifecycleRecording:
        """The operator is killed at the first request that matches the target; another operator is started."""
        with (
            self.driver() as driver,
            self.proxy.proxy_port() as proxy_port,
            _OperatorSupervisor(self, proxy_port, driver, kind) as supervisor,
        ):
            proxy_port.fault_for = supervisor.killing(target, after)
            supervisor.start()
            driver.run(kind)
            wait_for_events(driver, kind, events)
            supervisor.stop()
            return LifecycleRecording(
                lifecycle.final_state(driver, kind), tuple(proxy_port.calls), proxy_port.tag, supervisor.killed_at
            )


class _OperatorSupervisor:
    """Runs one operator at a time and starts the next one when it is killed."""

    def __init__(self, harness: LifecycleHarness, proxy_port: ProxyPort, driver: LifecycleDriver, kind: KindVersion) -> None:
        self._start: Callable[[], forked_operators.ForkedOperator] = lambda: harness.operator(proxy_port, driver, kind)
        self._closing = False
        self.killed_at: ProxiedCall | None = None
        self._thread = threading.Thread(target=self._supervise, name="operator supervisor", daemon=True)

    def start(self) -> None:
        self._operator = self._start()
        self._thread.start()

    def __enter__(self) -> _OperatorSupervisor:
        return self

    def __exit__(self, *error: object) -> None:
        self._closing = True
        while self._thread.is_alive():
            self._operator.signal(signal.SIGKILL)
            self._thread.join(0.1)

    def _supervise(self) -> None:
        while self._operator.wait() == -signal.SIGKILL and not self._closing:
            self._operator = self._start()

    def killing(self, target: Target, after: bool) -> Callable[[ProxiedCall], proxy.Fault]:
        def fault_for(call: ProxiedCall) -> proxy.Fault:
            if self.killed_at is not None or not target(call):
                return None
            self.killed_at = call
            return proxy.DroppedConnection(after, lambda: self._operator.signal(signal.SIGKILL))

        return fault_for

    def stop(self) -> None:
        """Stop the last operator with SIGTERM. If it is killed only now, stop its successor."""
        while self._thread.is_alive():
            self._operator.signal(signal.SIGTERM)
            self._thread.join(0.3)


def wait_for_events(driver: LifecycleDriver, kind: KindVersion, events: lifecycle.EventCounts, seconds: float = 20.0) -> None:
    """Wait for these events and for correct counts. On timeout the assertions of the test report the difference."""
    deadline = time.monotonic() + seconds

    def said() -> bool:
        return (not events or lifecycle.count_events(driver)[0] == events) and lifecycle.counts_match(driver, kind)

    while not said() and time.monotonic() < deadline:
        time.sleep(0.1)


@contextlib.contextmanager
def running(kube: cluster.Cluster) -> Iterator[LifecycleHarness]:
    with (
        proxy.running(kube.kubeconfig) as served,
        forked_operators.fork_server() as parent,
        watch_cache.watching(kube.kubeconfig, *lifecycle.WATCHED) as look,
    ):
        yield LifecycleHarness(kube, served, parent, look)

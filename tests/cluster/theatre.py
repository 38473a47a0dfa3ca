"""Where lives are played in any number at once: a proxy, forked operators, a lookout."""

from __future__ import annotations

import contextlib
import dataclasses
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import requests
from tests.cluster import forked, lives, lookout, proxy
from tests.cluster.api import Api, Object, Refused
from tests.cluster.lives import Kind, Portrait, Stage
from tests.cluster.proxy import Call, Gate
from tools.kube import cluster

Target = Callable[[Call], bool]
Trouble = Callable[[Gate], contextlib.AbstractContextManager[object]]


@dataclasses.dataclass(frozen=True)
class Performance:
    portrait: Portrait
    calls: tuple[Call, ...]
    """Those of all operators that took part."""
    tag: str
    struck: Call | None = None
    """The call at which the operator was killed."""


class PatientApi(Api):
    """Asks again while the API server is away."""

    def call(self, verb: str, path: str, body: Any = None, content: str = "application/json", **query: str) -> Object:
        for _ in range(300):
            try:
                return super().call(verb, path, body, content, **query)
            except requests.ConnectionError:
                time.sleep(0.1)
            except Refused as refused:
                if refused.code not in (403, 429, 500, 503):  # a server that has just started knows no roles yet
                    raise
                time.sleep(0.1)
        return super().call(verb, path, body, content, **query)


class Theatre:
    def __init__(self, kube: cluster.Cluster, served: proxy.Proxy, parent: forked.Parent, look: lookout.Lookout) -> None:
        self.kube, self.proxy, self.parent, self.lookout = kube, served, parent, look
        self._local = threading.local()

    @property
    def api(self) -> Api:
        """A client for each thread."""
        if not hasattr(self._local, "api"):
            self._local.api = PatientApi(self.kube.kubeconfig)
        found: Api = self._local.api
        return found

    @contextlib.contextmanager
    def stage(self) -> Iterator[Stage]:
        stage = Stage(self.api, self.lookout)
        try:
            yield stage
        finally:
            stage.close()

    def operator(self, gate: Gate, stage: Stage, kind: Kind, *flags: str) -> forked.Forked:
        flags = ("--namespace", stage.namespace, "--enable-scheme", kind.kind, *flags)
        return self.parent.operator(self.proxy.kubeconfig(gate), *flags)

    def perform(self, kind: Kind) -> Performance:
        """Undisturbed."""
        return self.perform_with(kind, {}, lambda gate: contextlib.nullcontext())

    def perform_with(self, kind: Kind, told: lives.Told, trouble: Trouble) -> Performance:
        """With trouble all the time. At the end, all that is to be told is waited for."""
        with self.stage() as stage, self.proxy.gate() as gate:
            with trouble(gate), self._acting(gate, stage, kind):
                stage.play(kind)
                wait_for_the_last_word(stage, kind, told)
            return Performance(lives.portrait(stage, kind), tuple(gate.calls), gate.tag)

    def perform_together(self, kind: Kind, told: lives.Told, count: int = 2) -> Performance:
        """So many operators at once, and nobody leads."""
        with self.stage() as stage, self.proxy.gate() as gate:
            with contextlib.ExitStack() as stack:
                for _ in range(count):
                    stack.enter_context(self._acting(gate, stage, kind))
                stage.play(kind)
                wait_for_the_last_word(stage, kind, told)
            return Performance(lives.portrait(stage, kind), tuple(gate.calls), gate.tag)

    @contextlib.contextmanager
    def _acting(self, gate: Gate, stage: Stage, kind: Kind) -> Iterator[None]:
        """An operator that ends in order; its log is shown if the life does not go on."""
        operator = self.operator(gate, stage, kind)
        try:
            yield
        except BaseException:
            print(operator.log[-5000:])
            raise
        finally:
            operator.signal(signal.SIGTERM)
            operator.wait()

    def perform_with_a_kill(self, kind: Kind, target: Target, after: bool, told: lives.Told) -> Performance:
        """The operator is killed at the first call that the target names; another one takes over."""
        with self.stage() as stage, self.proxy.gate() as gate, _Relay(self, gate, stage, kind) as relay:
            gate.judge = relay.killing(target, after)
            relay.begin()
            stage.play(kind)
            wait_for_the_last_word(stage, kind, told)
            relay.retire()
            return Performance(lives.portrait(stage, kind), tuple(gate.calls), gate.tag, relay.struck)


class _Relay:
    """One operator at a time; when it is killed, the next one starts."""

    def __init__(self, theatre: Theatre, gate: Gate, stage: Stage, kind: Kind) -> None:
        self._start: Callable[[], forked.Forked] = lambda: theatre.operator(gate, stage, kind)
        self._closing = False
        self.struck: Call | None = None
        self._keeper = threading.Thread(target=self._keep, name="keeper", daemon=True)

    def begin(self) -> None:
        self._operator = self._start()
        self._keeper.start()

    def __enter__(self) -> _Relay:
        return self

    def __exit__(self, *error: object) -> None:
        self._closing = True
        while self._keeper.is_alive():
            self._operator.signal(signal.SIGKILL)
            self._keeper.join(0.1)

    def _keep(self) -> None:
        while self._operator.wait() == -signal.SIGKILL and not self._closing:
            self._operator = self._start()

    def killing(self, target: Target, after: bool) -> Callable[[Call], proxy.Fate]:
        def judge(call: Call) -> proxy.Fate:
            if self.struck is not None or not target(call):
                return None
            self.struck = call
            return proxy.Lost(after, lambda: self._operator.signal(signal.SIGKILL))

        return judge

    def retire(self) -> None:
        """The last operator ends in order, having told everything; if the kill comes only now, that of its successor."""
        while self._keeper.is_alive():
            self._operator.signal(signal.SIGTERM)
            self._keeper.join(0.3)


def wait_for_the_last_word(stage: Stage, kind: Kind, told: lives.Told, seconds: float = 20.0) -> None:
    """Until all of that has been told, and the counts are those of the pods; what is not right then is for others to find."""
    deadline = time.monotonic() + seconds

    def said() -> bool:
        return (not told or lives.events(stage)[0] == told) and lives.counted(stage, kind)

    while not said() and time.monotonic() < deadline:
        time.sleep(0.1)


@contextlib.contextmanager
def opened(kube: cluster.Cluster) -> Iterator[Theatre]:
    with (
        proxy.serving(kube.kubeconfig) as served,
        forked.parent() as parent,
        lookout.over(kube.kubeconfig, *lives.WATCHED) as look,
    ):
        yield Theatre(kube, served, parent, look)

"""Where lives are played in any number at once: a proxy, forked operators, a lookout."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

from tests.cluster import forked, lives, lookout, proxy
from tests.cluster.api import Api
from tests.cluster.lives import Kind, Portrait, Stage
from tests.cluster.proxy import Call, Gate

Target = Callable[[Call], bool]


@dataclasses.dataclass(frozen=True)
class Performance:
    portrait: Portrait
    calls: tuple[Call, ...]
    """Those of all operators that took part."""
    tag: str
    struck: Call | None = None
    """The call at which the operator was killed."""


class Theatre:
    def __init__(self, kubeconfig: str | os.PathLike[str], served: proxy.Proxy, parent: forked.Parent, look: lookout.Lookout):
        self._kubeconfig, self.proxy, self.parent, self.lookout = kubeconfig, served, parent, look
        self._local = threading.local()

    @property
    def api(self) -> Api:
        """A client for each thread."""
        if not hasattr(self._local, "api"):
            self._local.api = Api(self._kubeconfig)
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

    def perform(self, kind: Kind, *flags: str) -> Performance:
        """Undisturbed."""
        with self.stage() as stage, self.proxy.gate() as gate:
            operator = self.operator(gate, stage, kind, *flags)
            try:
                stage.play(kind)
            finally:
                operator.signal(signal.SIGTERM)
                operator.wait()
            return Performance(lives.portrait(stage, kind), tuple(gate.calls), gate.tag)

    def perform_with_a_kill(self, kind: Kind, target: Target, after: bool, told: lives.Told) -> Performance:
        """The operator is killed at the first call that the target names; another one takes over."""
        with self.stage() as stage, self.proxy.gate() as gate, _Relay(self, gate, stage, kind) as relay:
            gate.judge = relay.killing(target, after)
            relay.begin()
            stage.play(kind)
            relay.told(told)
            relay.retire()
            return Performance(lives.portrait(stage, kind), tuple(gate.calls), gate.tag, relay.struck)


class _Relay:
    """One operator at a time; when it is killed, the next one starts."""

    def __init__(self, theatre: Theatre, gate: Gate, stage: Stage, kind: Kind) -> None:
        self._start: Callable[[], forked.Forked] = lambda: theatre.operator(gate, stage, kind)
        self._stage = stage
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

    def told(self, wanted: lives.Told) -> None:
        """Waits until all of that has been told; what is not right then is for others to find."""
        deadline = time.monotonic() + 20
        while lives.events(self._stage)[0] != wanted and time.monotonic() < deadline:
            time.sleep(0.1)

    def retire(self) -> None:
        """The last operator ends in order, having told everything; if the kill comes only now, that of its successor."""
        while self._keeper.is_alive():
            self._operator.signal(signal.SIGTERM)
            self._keeper.join(0.3)


@contextlib.contextmanager
def opened(kubeconfig: str | os.PathLike[str]) -> Iterator[Theatre]:
    with (
        proxy.serving(kubeconfig) as served,
        forked.parent() as parent,
        lookout.over(kubeconfig, *lives.WATCHED) as look,
    ):
        yield Theatre(kubeconfig, served, parent, look)

"""Runs probes and lifecycle hooks: a command in the container, an HTTP request or a TCP connection to the pod."""

from __future__ import annotations

import asyncio

from traincrew.embedded.kubelet.lifecycle.steps import Handler
from traincrew.embedded.kubelet.pods import probe_messages
from traincrew.embedded.kubelet.pods.managed_pod import ManagedPod
from traincrew.embedded.kubelet.pods.pod_network import PodNetwork
from traincrew.embedded.kubelet.pods.probe_actions import (
    ExecAction,
    HttpGetAction,
    ProbeAction,
    ProbeResult,
    SleepAction,
    TcpAction,
)
from traincrew.embedded.kubelet.runtime import runtime
from traincrew.embedded.kubelet.runtime.streaming import StreamUnavailable


class Prober:
    """Runs the probes and lifecycle hooks of one pod."""

    def __init__(self, pod: ManagedPod, network: PodNetwork) -> None:
        self._pod, self._network = pod, network

    async def run(self, container: str, handler: Handler, timeout: float | None) -> ProbeResult:  # noqa: ASYNC109
        try:
            action = self._action(container, handler)
            try:
                async with asyncio.timeout(timeout):
                    return await action.run()
            except TimeoutError:
                return ProbeResult(False, action.timeout_message(timeout or 0))
        except (ValueError, StreamUnavailable, runtime.ContainerRuntimeError) as error:
            return ProbeResult(None, str(error))

    def _action(self, container: str, handler: Handler) -> ProbeAction:
        """Raises ValueError."""
        if "exec" in handler:
            if self._pod.shim is None:
                raise runtime.ShimGone("the pod has no sandbox")
            return ExecAction(self._pod.shim, container, tuple(handler["exec"].get("command", ())))
        if "httpGet" in handler:
            action = handler["httpGet"]
            return HttpGetAction(self._network, *self._address(container, action), action)
        if "tcpSocket" in handler:
            return TcpAction(self._network, *self._address(container, handler["tcpSocket"]))
        if "sleep" in handler:
            return SleepAction(handler["sleep"]["seconds"])
        raise ValueError(f"this node has no handler for {', '.join(handler) or 'an empty probe'}")

    def _address(self, container: str, action: Handler) -> tuple[str, int]:
        ports = self._pod.container(container).get("ports", ())
        named = {each["name"]: each["containerPort"] for each in ports if each.get("name")}
        return action.get("host") or self._pod.address, probe_messages.port_number(action["port"], named)

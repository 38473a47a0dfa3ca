"""Runs probes and lifecycle hooks: a command in the container, a request by HTTP or gRPC, or a TCP connection to the pod."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from traincrew.embedded.kubelet.lifecycle.steps import Handler
from traincrew.embedded.kubelet.pods import probe_messages
from traincrew.embedded.kubelet.pods.grpc_health import GrpcAction
from traincrew.embedded.kubelet.pods.http_get import HttpGetAction, HttpGetHook
from traincrew.embedded.kubelet.pods.managed_pod import ManagedPod
from traincrew.embedded.kubelet.pods.pod_network import PodNetwork
from traincrew.embedded.kubelet.pods.probe_actions import (
    ExecAction,
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
        return await self._run(self._action, container, handler, timeout)

    async def run_hook(self, container: str, handler: Handler, timeout: float | None) -> ProbeResult:  # noqa: ASYNC109
        return await self._run(self._hook, container, handler, timeout)

    async def _run(
        self, build: Callable[[str, Handler], ProbeAction], container: str, handler: Handler, seconds: float | None
    ) -> ProbeResult:
        try:
            action = build(container, handler)
            try:
                async with asyncio.timeout(seconds):
                    return await action.run()
            except TimeoutError:
                return ProbeResult(False, action.timeout_message(seconds or 0))
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
        if "grpc" in handler:
            service = handler["grpc"].get("service") or ""
            return GrpcAction(self._network, self._pod.address, handler["grpc"]["port"], service)
        raise ValueError(f"this node has no handler for {', '.join(handler) or 'an empty probe'}")

    def _hook(self, container: str, handler: Handler) -> ProbeAction:
        """Raises ValueError."""
        if "sleep" in handler:
            return SleepAction(handler["sleep"]["seconds"])
        if "tcpSocket" in handler:
            raise ValueError("a lifecycle hook cannot open a TCP connection")
        action = self._action(container, handler)
        return HttpGetHook(action) if isinstance(action, HttpGetAction) else action

    def _address(self, container: str, action: Handler) -> tuple[str, int]:
        ports = self._pod.container(container).get("ports", ())
        named = {each["name"]: each["containerPort"] for each in ports if each.get("name")}
        return action.get("host") or self._pod.address, probe_messages.port_number(action["port"], named)

"""Logs, exec, attach and port-forward: handed on to the kubelet of the pod's node."""

from __future__ import annotations

import ssl

from aiohttp import web

from traincrew.apimachinery import api_errors
from traincrew.embedded.apiserver.requests.request import Request
from traincrew.embedded.apiserver.requests.scope import RequestScope
from traincrew.embedded.apiserver.streams import location, log_relay, tunnel


class Streaming:
    def __init__(self, cluster: RequestScope, context: ssl.SSLContext) -> None:
        self._cluster, self._context = cluster, context

    async def __call__(self, request: web.BaseRequest, call: Request) -> web.StreamResponse:
        pod = self._cluster.object("pods", call.namespace, call.name)
        if pod is None:
            raise api_errors.not_found(call.subject)
        query = list(request.rel_url.query.items())
        if call.subresource == "log":
            where = location.log(pod, query)
            if where is None:
                return web.Response(status=204)
            return await log_relay.relay(request, self._target(pod, where), call.name)
        places = {"exec": location.exec, "attach": location.attach, "portforward": location.port_forward}
        return await tunnel.tunnel(request, self._target(pod, places[call.subresource](pod, query)))

    def _target(self, pod: dict[str, object], where: location.Location) -> tunnel.Target:
        name = str(pod["spec"]["nodeName"])  # type: ignore[index]
        node = self._cluster.object("nodes", "", name)
        if node is None:
            raise location.no_node(name)
        host, port = location.endpoint(node)
        return tunnel.Target(host, port, where.path, where.query, ssl=self._context)

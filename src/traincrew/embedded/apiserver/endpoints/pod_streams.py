"""Logs, exec, attach, port-forward and proxy, passed on to the kubelet of the pod's node."""

from __future__ import annotations

import functools
import ssl
from collections.abc import Callable

from aiohttp import web

from traincrew.apimachinery import api_errors
from traincrew.apimachinery.api_errors import StatusError
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.endpoints import proxy
from traincrew.embedded.apiserver.requests.request import ApiRequest
from traincrew.embedded.apiserver.requests.scope import RequestScope
from traincrew.embedded.apiserver.streams import location, log_relay, tunnel
from traincrew.model import node_annotations

AUTHORITIES = 64
"""Nodes whose contexts are kept: to make one takes a few milliseconds."""


class PodStreamHandler:
    def __init__(self, scope: RequestScope, context: Callable[[str], ssl.SSLContext]) -> None:
        """context: for kubelets whose certificate is signed by this authority (PEM; empty: that of the cluster)."""
        self._scope, self._context = scope, functools.lru_cache(AUTHORITIES)(context)

    async def __call__(self, http_request: web.BaseRequest, request: ApiRequest) -> web.StreamResponse:
        if request.subresource == "proxy":
            return await proxy.proxy(http_request, request, self._scope, self._target)
        pod = self._scope.object("pods", request.namespace, request.name)
        if pod is None:
            raise api_errors.not_found(request.subject)
        query = list(http_request.rel_url.query.items())
        if request.subresource == "log":
            where = location.log(pod, query)
            if where is None:
                return web.Response(status=204)
            return await log_relay.relay(http_request, self._target(pod, where), request.name)
        places = {"exec": location.exec, "attach": location.attach, "portforward": location.port_forward}
        return await tunnel.tunnel(http_request, self._target(pod, places[request.subresource](pod, query)))

    def _target(self, pod: Object, where: location.Location) -> tunnel.KubeletEndpoint:
        name = str(pod["spec"]["nodeName"])
        node = self._scope.object("nodes", "", name)
        if node is None:
            raise location.no_node(name)
        host, port = location.endpoint(node)
        return tunnel.KubeletEndpoint(host, port, where.path, where.query, ssl=self._trusting(node))

    def _trusting(self, node: Object) -> ssl.SSLContext:
        authority = (node["metadata"].get("annotations") or {}).get(node_annotations.SERVING_AUTHORITY, "")
        try:
            return self._context(authority.encode("ascii", "replace").decode())
        except ssl.SSLError as error:
            where = f"annotation {node_annotations.SERVING_AUTHORITY} of node {node['metadata']['name']}"
            raise StatusError(500, "", f"{where}: not a certificate: {error.reason or error}") from error

"""pods/proxy and services/proxy: HTTP requests to the servers of pods, through the kubelet of the pod's node."""

from __future__ import annotations

import random
from collections.abc import Callable
from urllib.parse import urlencode

from aiohttp import web

from traincrew.apimachinery import api_errors
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.requests.request import ApiRequest
from traincrew.embedded.apiserver.requests.scope import RequestScope
from traincrew.embedded.apiserver.streams import location, proxy_relay, proxy_target, proxy_urls
from traincrew.embedded.apiserver.streams.pod_connection import PodEndpoint
from traincrew.embedded.apiserver.streams.tunnel import KubeletEndpoint

KubeletOf = Callable[[Object, location.Location], KubeletEndpoint]
"""The kubelet of a pod's node, with the path and query of a request to it."""


async def proxy(http: web.BaseRequest, request: ApiRequest, scope: RequestScope, kubelet_of: KubeletOf) -> web.StreamResponse:
    if request.query.all("dryRun"):
        raise api_errors.bad_request("dryRun is not supported")

    def find(resource: str, name: str) -> Object | None:
        return scope.object(resource, request.namespace, name)

    target = _target(request, find)
    meta = target.pod["metadata"]
    if not target.pod["spec"].get("nodeName"):
        raise api_errors.bad_request(f"pod {meta['name']} does not have a host assigned")
    where = location.Location(
        f"/dial/{meta['namespace']}/{meta['name']}/{meta['uid']}", urlencode({"port": target.port, "scheme": target.scheme})
    )
    endpoint = PodEndpoint(kubelet_of(target.pod, where), target.address, target.port)
    path = proxy_urls.of_request(http.raw_path.partition("?")[0])
    return await proxy_relay.proxy(proxy_relay.ProxiedRequest(http, path, endpoint, target.authority))


def _target(request: ApiRequest, find: proxy_target.Find) -> proxy_target.ProxyTarget:
    if request.info.plural == "pods":
        return proxy_target.of_pod(request.name, find)
    return proxy_target.of_service(request.name, find, lambda listed: random.sample(listed, len(listed)))

"""The location of a pod's stream at the kubelet: container, path and query. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from traincrew.apimachinery import api_errors, field_errors, times
from traincrew.apimachinery.api_errors import StatusError
from traincrew.apimachinery.unstructured import Object
from traincrew.serving import query_options

Query = Sequence[tuple[str, str]]
"""A request's query, in order and with repetitions."""
DEFAULT_PORT = 10250
PREFERRED = ("InternalIP", "Hostname", "InternalDNS", "ExternalDNS", "ExternalIP")
"""Types of node addresses. (A real API server prefers the hostname; on one machine it may not resolve.)"""


class Location(NamedTuple):
    """The path and query of a stream at the kubelet."""

    path: str
    query: str
    """Encoded."""


def log(pod: Object, query: Query) -> Location | None:
    """None: the pod has no node yet, and the response is 204."""
    given = dict(reversed(query))
    name = pod["metadata"]["name"]
    params = _log_params(given, name)
    container = _container(pod, given.get("container", ""))
    if not pod["spec"].get("nodeName"):
        return None
    return Location(f"/containerLogs/{pod['metadata']['namespace']}/{name}/{container}", _encoded(params))


def exec(pod: Object, query: Query) -> Location:
    commands = [("command", value) for key, value in query if key == "command"]
    return _session("exec", pod, query, commands)


def attach(pod: Object, query: Query) -> Location:
    return _session("attach", pod, query, [])


def port_forward(pod: Object, query: Query) -> Location:
    _assigned(pod)
    texts = [text for key, value in query if key == "ports" for text in value.split(",")]
    params = [("port", ",".join(str(_port(text)) for text in texts))] if texts else []
    return Location(f"/portForward/{pod['metadata']['namespace']}/{pod['metadata']['name']}", _encoded(params))


def endpoint(node: Object, preferred: Sequence[str] = PREFERRED) -> tuple[str, int]:
    """Host and port of a node's kubelet."""
    status = node.get("status", {})
    addresses = status.get("addresses", [])
    for kind in preferred:
        for each in addresses:
            if each["type"] == kind:
                port = status.get("daemonEndpoints", {}).get("kubeletEndpoint", {}).get("Port", 0)
                return each["address"], port if port > 0 else DEFAULT_PORT
    known = " ".join(f"{{{each['type']} {each['address']}}}" for each in addresses)
    raise StatusError(500, "", f"no preferred addresses found; known addresses: [{known}]")


def no_node(name: str) -> StatusError:
    """The pod's node does not exist. (A real API server names the resource `pods` here, too.)"""
    return api_errors.not_found(api_errors.StatusDetails("pods", name=name))


def _session(verb: str, pod: Object, query: Query, params: list[tuple[str, str]]) -> Location:
    given = dict(reversed(query))
    container = _container(pod, given.get("container", ""))
    _assigned(pod)
    channels = (("stdin", "input"), ("stdout", "output"), ("stderr", "error"), ("tty", "tty"))
    params = params + [(ours, "1") for name, ours in channels if query_options.flag(given, name)]
    return Location(f"/{verb}/{pod['metadata']['namespace']}/{pod['metadata']['name']}/{container}", _encoded(params))


def _container(pod: Object, requested: str) -> str:
    """kubectl, not the API server, evaluates the annotation that names the default container."""
    spec, name = pod["spec"], pod["metadata"]["name"]
    regular = [each["name"] for each in spec.get("containers", [])]
    if not requested and len(regular) == 1:
        return str(regular[0])
    ephemeral = [each["name"] for each in spec.get("ephemeralContainers", [])]
    everyone = [each["name"] for each in spec.get("initContainers", [])] + regular + ephemeral
    if not requested:
        choice = f", choose one of: [{' '.join(everyone)}]" if regular else ""
        raise api_errors.bad_request(f"a container name must be specified for pod {name}{choice}")
    if requested not in everyone:
        raise api_errors.bad_request(f"container {requested} is not valid for pod {name}")
    return requested


def _assigned(pod: Object) -> None:
    if not pod["spec"].get("nodeName"):
        raise api_errors.bad_request(f"pod {pod['metadata']['name']} does not have a host assigned")


def _log_params(given: dict[str, str], name: str) -> list[tuple[str, str]]:
    try:
        tail, limit = query_options.number(given, "tailLines"), query_options.number(given, "limitBytes")
        seconds, moment = query_options.number(given, "sinceSeconds"), query_options.time(given, "sinceTime")
    except query_options.BadQuery as error:
        raise api_errors.bad_request(str(error)) from error
    errors = []
    if tail is not None and tail < 0:
        errors.append(field_errors.invalid("tailLines", tail, "must be greater than or equal to 0"))
    if limit is not None and limit < 1:
        errors.append(field_errors.invalid("limitBytes", limit, "must be greater than 0"))
    if seconds is not None and moment is not None:
        errors.append(field_errors.forbidden("[]", "at most one of `sinceTime` or `sinceSeconds` may be specified"))
    elif seconds is not None and seconds < 1:
        errors.append(field_errors.invalid("sinceSeconds", seconds, "must be greater than 0"))
    if "stream" in given:
        errors.append(field_errors.forbidden("stream", "may not be specified"))
    if errors:
        raise api_errors.invalid("PodLogOptions", "", name, errors)
    flags = [(key, "true") for key in ("follow", "previous", "timestamps") if query_options.flag(given, key)]
    numbers = (("tailLines", tail), ("limitBytes", limit), ("sinceSeconds", seconds))
    params = flags + [(key, str(value)) for key, value in numbers if value is not None]
    return params + ([("sinceTime", times.rfc3339(moment))] if moment else [])


def _port(text: str) -> int:
    complaint = f'cannot convert to []int32: strconv.ParseUint: parsing "{text}"'
    if not re.fullmatch(r"[0-9]+", text):
        raise api_errors.bad_request(f"{complaint}: invalid syntax")
    if int(text) > 0xFFFF:
        raise api_errors.bad_request(f"{complaint}: value out of range")
    return int(text)


def _encoded(params: list[tuple[str, str]]) -> str:
    """Sorted by name, as Go does."""
    return urlencode(sorted(params, key=lambda pair: pair[0]))

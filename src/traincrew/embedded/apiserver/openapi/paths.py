"""The paths of a resource with their operations."""

from __future__ import annotations

from collections.abc import Callable

from traincrew.apimachinery.resource_info import ResourceInfo, Subresource
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.openapi import parameters

Named = Callable[[str, str, str], str]
"""(group, version, kind) → the name of its definition."""

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
PATCH, STATUS, DELETE_OPTIONS = (_META + name for name in ("Patch", "Status", "DeleteOptions"))
_OK = {"description": "OK"}
_UNAUTHORIZED = {"401": {"description": "Unauthorized"}}
_MEDIA = ("application/json", "application/yaml")
_PATCHES = ("application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json")
_STRATEGIC = "application/strategic-merge-patch+json"
_METHODS = {"create": "post", "delete": "delete", "get": "get", "patch": "patch", "update": "put"}
_PROXY_METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
_OPERATION_VERBS = {"create": "create", "delete": "delete", "get": "read", "patch": "patch", "update": "replace"}


def reference(name: str) -> Object:
    return {"$ref": f"#/components/schemas/{name}"}


def paths(info: ResourceInfo, named: Named) -> dict[str, Object]:
    """Path → path item of a resource and its subresources."""
    return _Paths(info, named).all()


class _Paths:
    def __init__(self, info: ResourceInfo, named: Named) -> None:
        self._served, self._named = info, named
        self._root = f"/apis/{info.group}/{info.version}" if info.group else f"/api/{info.version}"
        scope = "/namespaces/{namespace}" if info.namespaced else ""
        self._collection = f"{self._root}{scope}/{info.plural}"
        self._in_path = ["namespace"] if info.namespaced else []
        self._title = _title(info)

    def all(self) -> dict[str, Object]:
        items = {self._collection: self._many(), f"{self._collection}/{{name}}": self._one()}
        if self._served.namespaced and "list" in self._served.verbs:
            everywhere: Object = {"get": self._list("ForAllNamespaces", []), "parameters": parameters.LIST + parameters.PRETTY}
            items[f"{self._root}/{self._served.plural}"] = everywhere
        for part in self._served.subresources:
            items[f"{self._collection}/{{name}}/{part.name}"] = self._part(part)
            if part.name == "proxy":
                items[f"{self._collection}/{{name}}/proxy/{{path}}"] = self._proxy(
                    part, ("name", *self._in_path, "path"), "WithPath"
                )
        return {path: item for path, item in items.items() if item.keys() - {"parameters"}}

    def _many(self) -> Object:
        served, item = self._served, Object()
        if "list" in served.verbs:
            item["get"] = self._list("", parameters.LIST)
        if "create" in served.verbs:
            item["post"] = self._operation("create", "create", self._kind()) | self._body(self._definition(self._kind()))
        if "deletecollection" in served.verbs:
            item["delete"] = self._deletion("deletecollection", "Collection", parameters.DELETE_MANY)
        return item | {"parameters": parameters.path(*self._in_path) + parameters.PRETTY}

    def _one(self) -> Object:
        item = Object()
        for verb in ("get", "update", "delete", "patch"):
            if verb in self._served.verbs:
                item[_METHODS[verb]] = self._verb(verb, self._kind(), "")
        return item | {"parameters": parameters.path("name", *self._in_path) + parameters.PRETTY}

    def _part(self, part: Subresource) -> Object:
        kind = (part.group, part.version, part.kind) if part.version else (*self._kind()[:2], part.kind)
        if part.name == "proxy":
            return self._proxy(part, ("name", *self._in_path), "")
        suffix = part.name.capitalize()
        inputs = parameters.path("name", *self._in_path) + parameters.STREAMS.get(part.name, parameters.PRETTY)
        if part.name in parameters.STREAMS:
            streams = {_METHODS[verb]: self._stream(verb, kind, suffix) for verb in part.verbs}
            return streams | {"parameters": inputs}
        return {_METHODS[verb]: self._verb(verb, kind, suffix) for verb in part.verbs} | {"parameters": inputs}

    def _proxy(self, part: Subresource, in_path: tuple[str, ...], suffix: str) -> Object:
        kind = (*self._kind()[:2], part.kind)
        methods = {method: self._connect(method, kind, f"Proxy{suffix}") for method in _PROXY_METHODS}
        return methods | {"parameters": parameters.path(*in_path) + parameters.query("path")}

    def _connect(self, method: str, kind: tuple[str, str, str], suffix: str) -> Object:
        return {
            "operationId": self._id("connect", suffix, method.capitalize()),
            "responses": {"200": {**_OK, "content": {"*/*": {"schema": {"type": "string"}}}}, **_UNAUTHORIZED},
            **self._extensions("connect", kind),
        }

    def _stream(self, verb: str, kind: tuple[str, str, str], suffix: str) -> Object:
        if suffix != "Log":
            return self._connect(_METHODS[verb], kind, suffix)
        content = {each: {"schema": {"type": "string"}} for each in ("text/plain", *_MEDIA)}
        return {
            "operationId": self._id("read", suffix),
            "responses": {"200": {**_OK, "content": content}, **_UNAUTHORIZED},
            **self._extensions("get", kind),
        }

    def _verb(self, verb: str, kind: tuple[str, str, str], suffix: str) -> Object:
        if verb == "delete":
            return self._deletion("delete", "", parameters.DELETE)
        # The scale of a custom resource has the kind of the resource.
        gvk = self._kind() if self._served.definition is not None else kind
        operation = self._operation(_OPERATION_VERBS[verb], verb, gvk, suffix) | self._responses(kind, verb)
        if verb == "patch":
            media = _PATCHES if self._served.definition is not None else (*_PATCHES, _STRATEGIC)
            return operation | {"requestBody": {"content": _content(PATCH, media), "required": True}}
        return operation if verb == "get" else operation | self._body(self._definition(kind))

    def _list(self, where: str, inputs: list[Object]) -> Object:
        group, version, kind = self._kind()
        listed = self._definition((group, version, self._served.list_kind or f"{kind}List"))
        media = (*_MEDIA, "application/json;stream=watch")
        return {
            "operationId": self._id("list", where),
            "parameters": inputs,
            "responses": {"200": {**_OK, "content": _content(listed, media)}, **_UNAUTHORIZED},
            **self._extensions("list", self._kind()),
        }

    def _deletion(self, action: str, what: str, inputs: list[Object]) -> Object:
        content = _content(STATUS, _MEDIA)
        accepted = {} if what else {"202": {"description": "Accepted", "content": content}}
        return {
            "operationId": self._id("delete", "", what),
            "parameters": inputs,
            "requestBody": {"content": _content(DELETE_OPTIONS, _MEDIA)},
            "responses": {"200": {**_OK, "content": content}, **accepted, **_UNAUTHORIZED},
            **self._extensions(action, self._kind()),
        }

    def _operation(self, operation_verb: str, verb: str, kind: tuple[str, str, str], suffix: str = "") -> Object:
        inputs = {"create": parameters.WRITE, "update": parameters.WRITE, "patch": parameters.PATCH}.get(verb, [])
        operation: Object = {"operationId": self._id(operation_verb, suffix), "parameters": inputs}
        return operation | self._responses(kind, verb) | self._extensions(_METHODS[verb], kind)

    def _responses(self, kind: tuple[str, str, str], verb: str) -> Object:
        content = _content(self._definition(kind), _MEDIA)
        answers: Object = {"200": {**_OK, "content": content}}
        if verb in ("create", "update") or (verb == "patch" and self._served.definition is None):
            answers["201"] = {"description": "Created", "content": content}
        if verb == "create":
            answers["202"] = {"description": "Accepted", "content": content}
        return {"responses": answers | _UNAUTHORIZED}

    def _body(self, definition: str) -> Object:
        return {"requestBody": {"content": _content(definition, _MEDIA), "required": True}}

    def _extensions(self, action: str, kind: tuple[str, str, str]) -> Object:
        gvk = dict(zip(("group", "version", "kind"), kind, strict=True))
        return {"x-kubernetes-action": action, "x-kubernetes-group-version-kind": gvk}

    def _kind(self) -> tuple[str, str, str]:
        return (self._served.group, self._served.version, self._served.kind)

    def _definition(self, kind: tuple[str, str, str]) -> str:
        return self._named(*kind)

    def _id(self, verb: str, suffix: str, how: str = "") -> str:
        scope = "Namespaced" if self._served.namespaced and suffix != "ForAllNamespaces" else ""
        return f"{verb}{self._title}{how}{scope}{self._served.kind}{suffix}"


def _content(definition: str, media: tuple[str, ...]) -> Object:
    schema = {"schema": reference(definition)} if definition else {}
    return dict.fromkeys(media, schema)


def _title(info: ResourceInfo) -> str:
    group = info.group.removesuffix(".k8s.io").split(".") if info.group else ["core"]
    return "".join(part.capitalize() for part in group) + info.version.capitalize()

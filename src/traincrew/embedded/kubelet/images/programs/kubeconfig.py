"""Reads a kubeconfig file without a YAML library: JSON, or the block style that kubectl writes."""

import base64
import json
import os
import re
import urllib.parse
from typing import Any

from traincrew.embedded.kubelet.images.programs import api

_PAIR = re.compile(r"""(?P<key>"[^"]*"|'[^']*'|[^\s:#][^:]*?)\s*:(?:\s+(?P<value>.*))?$""")

Line = tuple[int, str]


def read(paths: str, context: str) -> api.ApiAccess:
    path = next((each for each in paths.split(":") if os.path.exists(each)), "")
    if not path:
        raise api.CommandError(f"error: stat {paths}: no such file or directory")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        config = json.loads(text) if text.lstrip().startswith("{") else parse(text)
        return _access(config, context or config.get("current-context", ""), os.path.dirname(path))
    except (KeyError, TypeError, ValueError, StopIteration) as error:
        raise api.CommandError(f"error: error loading config file {path!r}: {error!r}") from None


def _access(config: Any, context: str, directory: str) -> api.ApiAccess:
    chosen = _named(config["contexts"], context, "context")
    cluster = _named(config["clusters"], chosen["cluster"], "cluster")
    user = _named(config["users"], chosen["user"], "user")
    url = urllib.parse.urlsplit(cluster["server"])
    authority = _content(cluster, "certificate-authority", directory)
    token = user.get("token") or (_file(user["tokenFile"], directory).strip() if "tokenFile" in user else "")
    return api.ApiAccess(url.hostname or "", url.port or 443, token, authority, chosen.get("namespace") or "default")


def _named(entries: Any, name: str, kind: str) -> Any:
    return next(each[kind] for each in entries if each["name"] == name)


def _content(entry: Any, key: str, directory: str) -> str:
    if f"{key}-data" in entry:
        return base64.b64decode(entry[f"{key}-data"]).decode()
    return _file(entry[key], directory) if key in entry else ""


def _file(path: str, directory: str) -> str:
    with open(os.path.join(directory, path), encoding="utf-8") as file:
        return file.read()


def parse(text: str) -> Any:
    lines = []
    for raw in text.splitlines():
        bare = raw.strip()
        if bare and not bare.startswith("#") and bare != "---":
            lines.append((len(raw) - len(raw.lstrip()), bare))
    value, rest = _block(lines)
    if rest:
        raise ValueError(f"line {rest[0][1]!r} cannot be parsed")
    return value


def _block(lines: list[Line]) -> tuple[Any, list[Line]]:
    if not lines:
        return None, []
    if lines[0][1].startswith("- ") or lines[0][1] == "-":
        return _sequence(lines)
    return _mapping(lines)


def _sequence(lines: list[Line]) -> tuple[list[Any], list[Line]]:
    depth, items = lines[0][0], []
    while lines and lines[0][0] == depth and (lines[0][1].startswith("- ") or lines[0][1] == "-"):
        inner = lines[0][1][1:]
        width = 1 + len(inner) - len(inner.lstrip())
        rest = [(depth + width, inner.strip()), *lines[1:]] if inner.strip() else lines[1:]
        if _PAIR.match(rest[0][1]):
            value, lines = _block(rest)
        else:
            value, lines = _scalar(rest[0][1]), rest[1:]
        items.append(value)
    return items, lines


def _mapping(lines: list[Line]) -> tuple[dict[str, Any], list[Line]]:
    depth, mapping = lines[0][0], {}
    while lines and lines[0][0] == depth and not lines[0][1].startswith("- "):
        pair = _PAIR.match(lines[0][1])
        if pair is None:
            raise ValueError(f"line {lines[0][1]!r} cannot be parsed")
        key, value, lines = pair["key"].strip("\"'"), pair["value"], lines[1:]
        below = bool(lines) and (lines[0][0] > depth or (lines[0][0] == depth and lines[0][1].startswith("- ")))
        if not value and below:
            mapping[key], lines = _block(lines)
        else:
            mapping[key] = _scalar(value or "")
    return mapping, lines


def _scalar(text: str) -> Any:
    if text[:1] == '"':
        return json.loads(text)
    if text[:1] == "'":
        return text[1:-1].replace("''", "'")
    text = text.split(" #")[0].strip()
    return {"": None, "{}": {}, "[]": [], "null": None, "true": True, "false": False}.get(text, text)

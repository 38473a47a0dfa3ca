"""Replaces values that differ between any two servers by tokens: the same value by the same token, within one scenario.

Uids, resourceVersions, generated names, addresses, times, ages, credentials. Everything else is compared unchanged, except for
the ownership of fields (managedFields) of objects that were never applied: ours keeps it from an object's first apply on. The
descriptions of a table's columns are prose that no client shows, and are not compared at all.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

UID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
TIME = re.compile(r"\b(\d{4})-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| ?[+-]\d\d:?\d\d( UTC)?)( m=\+[0-9.]+)?")
CLUSTER_IP = re.compile(r"\b10\.(9[6-9]|10\d|11[01])\.\d{1,3}\.\d{1,3}\b")
TOKEN = re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]+")
CREDENTIAL = re.compile(r"\b(X509|TOKEN)SHA256=[0-9a-f]{64}\b")
"""The prefix depends on the credential of the kubeconfig: certificate or token."""
PEM = re.compile(r"-----BEGIN [A-Z ]+-----.*-----END [A-Z ]+-----\n?", re.DOTALL)
API_ACCESS = re.compile(r"\bkube-api-access-[a-z0-9]{5}\b")
CURRENT = re.compile(r"(current: |\()\d+(?=\)|$)")
"""The newest revision in a message: `Too large resource version: 999, current: 12`."""
AGE = re.compile(r"(?:\d+[smhdy]){1,2}")
RANDOM = "[bcdfghjklmnpqrstvwxz2456789]{5}\\b"
"""The suffix of generateName: no vowels and no similar digits, so that it contains no words."""
LONGEST_PREFIX = 58
ADMINISTRATORS = ("admin", "kubernetes-admin")  # the user of the kubeconfig
OWNERSHIP = ("operation", "manager", "apiVersion", "subresource")
PATCHED = re.compile(r'(?<=Invalid value: )"\{\\".*\}"(?=: )', re.DOTALL)
"""An object quoted in an error message, in its in-memory form: managedFields and the order of keys differ between servers."""
DUMP = re.compile(r"\n[ \xa0]+[a-z]+\.[A-Z]\w+\{.*?\n[ \xa0]+\}\n?", re.DOTALL)
"""A diff of Go structs at the end of a message. Its blanks change from process to process, so that no client relies on it."""
NODE_PORT = re.compile(r"(?<=:)3\d{4}(?=/)")
POINTER = re.compile(r"\b0x[0-9a-f]{6,}\b")
"""A pointer printed by Go."""


class Tokens:
    def __init__(self, host: str) -> None:
        self._host = host
        self._known: dict[str, dict[str, str]] = {}
        self._generated: list[re.Pattern[str]] = []
        self._years = {str((dt.datetime.now(dt.UTC) + dt.timedelta(days=days)).year) for days in (-2, 0, 400)}

    def normalize(self, value: Any) -> Any:
        """The value with tokens. Tokens are numbered in the order of appearance, with sorted keys."""
        return self._normal(value, "", False)

    def request(self, line: str) -> str:
        """The request line, with tokens for values from earlier responses."""
        known = self._known.get("version", {})
        line = re.sub(r"(?<=resourceVersion=)\d+", lambda match: known.get(match.group(), match.group()), line)
        return self._text(re.sub(r"(?<=continue=)[^&]+", "<continue>", line), "", False)

    def expect_generated(self, prefix: str) -> None:
        """A request has this generateName."""
        self._generated.append(re.compile(f"({re.escape(prefix[:LONGEST_PREFIX])}){RANDOM}"))

    def _normal(self, value: Any, key: str, listed: bool) -> Any:
        if isinstance(value, dict):
            return self._object(value, key)
        if isinstance(value, list):
            return [self._normal(each, key, listed) for each in value]
        if isinstance(value, str):
            return self._text(value, key, listed)
        if key == "nodePort" and isinstance(value, int):
            return self._token("port", str(value))
        return value

    def _object(self, value: dict[str, Any], key: str) -> dict[str, Any]:
        result: dict[str, Any] = {}
        # The revision of a list or a bookmark is that of the whole store.
        listed = "items" in value or "rows" in value or value.get("type") == "BOOKMARK"
        for name in sorted(value):
            child = value[name]
            if name == "managedFields":
                if not _applied(child):
                    continue
                # The order depends on the seconds of the writes, which are random.
                child = sorted(child, key=lambda entry: [str(entry.get(part)) for part in OWNERSHIP])
            if name == "causes":
                child = _sorted_conflicts(child)
            elif name == "columnDefinitions":
                child = _without_descriptions(child)
            elif name in ("resourceRules", "nonResourceRules") and isinstance(child, list):
                child = sorted(child, key=str)  # the order of bindings is random
            if listed and name in ("metadata", "object") and isinstance(child, dict):
                result[name] = self._collection(child)
            else:
                result[self._text(name, "", False)] = self._normal(child, name, False)
        return result

    def _collection(self, metadata: dict[str, Any]) -> dict[str, Any]:
        """The metadata of a list, or the object of a bookmark: any revision is accepted."""
        result: dict[str, Any] = {}
        for name in sorted(metadata):
            value = metadata[name]
            if name == "resourceVersion" and value not in ("", "0"):
                result[name] = "<version>"
            elif name == "metadata" and isinstance(value, dict):
                result[name] = self._collection(value)
            else:
                result[name] = self._normal(value, name, True)
        return result

    def _text(self, text: str, key: str, listed: bool) -> str:
        if key == "resourceVersion" and text.isdigit() and text != "0":
            return self._token("version", text)
        if key == "serverAddress":
            return "<host>"
        if key == "username" and text in ADMINISTRATORS:
            return "<administrator>"
        if key == "continue" and text:
            return "<continue>"
        if key == "cells":
            text = "<age>" if AGE.fullmatch(text) else NODE_PORT.sub("<port>", text)
        for pattern in self._generated:
            text = pattern.sub(lambda match: f"{match[1]}{self._token('random', match[0])}", text)
        text = DUMP.sub("", PATCHED.sub("<the patched object>", text))
        text = UID.sub(lambda match: self._token("uid", match.group()), text)
        text = CLUSTER_IP.sub(lambda match: self._token("ip", match.group()), text)
        text = CREDENTIAL.sub("<credential>", text)
        text = TOKEN.sub("<token>", PEM.sub("<pem>", API_ACCESS.sub("kube-api-access-<random>", text)))
        text = POINTER.sub("<pointer>", CURRENT.sub(r"\1<version>", text))
        return TIME.sub(self._time, text).replace(self._host, "<host>")

    def _time(self, match: re.Match[str]) -> str:
        if match.group(1) not in self._years:
            return match.group()  # given by a request
        fraction = match.group(2)
        return f"<time of {len(fraction) - 1} digits>" if fraction else "<time>"

    def _token(self, kind: str, value: str) -> str:
        known = self._known.setdefault(kind, {})
        return known.setdefault(value, f"<{kind} {len(known) + 1}>")


def _applied(ownership: Any) -> bool:
    entries = ownership if isinstance(ownership, list) else []
    return any(isinstance(each, dict) and each.get("operation") == "Apply" for each in entries)


def _without_descriptions(columns: Any) -> Any:
    if not isinstance(columns, list):
        return columns
    return [{key: value for key, value in each.items() if key != "description"} for each in columns]


def _sorted_conflicts(causes: Any) -> Any:
    """The conflicts of an apply have the random order of a Go map."""
    entries = causes if isinstance(causes, list) else []
    if entries and all(isinstance(each, dict) and each.get("reason") == "FieldManagerConflict" for each in entries):
        return sorted(entries, key=lambda each: (str(each.get("field")), str(each.get("message"))))
    return causes

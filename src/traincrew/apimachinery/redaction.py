"""What is not recorded: values of environment variables whose names say that they are secret (pure)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

REDACTED = "<redacted>"
MIN_SECRET = 8
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""A copy of the manifest, with all values of environment variables."""

_WORDS = re.compile(r"[A-Za-z0-9]+")
_ENDINGS = ("PASSWORD", "PASSWD", "PASSPHRASE", "SECRET", "SECRETS", "TOKEN", "CREDENTIAL", "CREDENTIALS", "APIKEY")
_SECRET_WORDS = frozenset({"KEY", "KEYS", "PASS", "PWD", "AUTH", "DSN"})
_USER_INFO = re.compile(r"(?<=://)[^/?#\s@]*:[^/?#\s@]+(?=@)")


def is_secret(name: str) -> bool:
    """Whether a variable of this name holds a secret: `HF_TOKEN` and `PGPASSWORD` do, `MAX_TOKENS` and `PWD` do not."""
    words = [word.upper() for word in _WORDS.findall(name)]
    if words == ["PWD"]:
        return False
    return any(word in _SECRET_WORDS or word.endswith(_ENDINGS) for word in words)


def redact(document: dict[str, Any]) -> dict[str, Any]:
    """An object without secret values, without managed fields and without the copy that `kubectl apply` keeps.

    Its status has the last lines that a container has printed: secret values are replaced there, too. It is also without the
    time of its deletion, which the store knows: it is not shown as one that is being deleted.
    """
    redacted: dict[str, Any] = _walk(document)
    metadata = redacted.get("metadata")
    if isinstance(metadata, dict):
        for field in ("managedFields", "deletionTimestamp", "deletionGracePeriodSeconds"):
            metadata.pop(field, None)
        if isinstance(annotations := metadata.get("annotations"), dict):
            annotations.pop(LAST_APPLIED, None)
    if "status" in redacted and (secrets := secret_values(document)):
        redacted["status"] = _replaced(redacted["status"], secrets)
    return redacted


def _replaced(value: Any, secrets: list[str]) -> Any:
    if isinstance(value, list):
        return [_replaced(each, secrets) for each in value]
    if isinstance(value, dict):
        return {key: _replaced(each, secrets) for key, each in value.items()}
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, REDACTED)
    return value


def without(text: bytes, secrets: Iterable[bytes]) -> bytes:
    """Secrets that a container prints are replaced, too."""
    for each in secrets:
        text = text.replace(each, REDACTED.encode())
    return text


def secret_values(document: dict[str, Any]) -> list[str]:
    """The values that `redact` removes, and their lines, the longest first.

    Short ones are left out: they occur in ordinary words.
    """
    found = {part for value in _secrets(document) for part in (value, *value.splitlines()) if len(part) >= MIN_SECRET}
    return sorted(found, key=len, reverse=True)


def _secrets(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _secrets(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            if key == "env" and isinstance(each, list):
                yield from (one["value"] for one in each if isinstance(one, dict) and _variable(one).get("value") == REDACTED)
            else:
                yield from _secrets(each)


def _walk(value: Any) -> Any:
    if isinstance(value, list):
        return [_walk(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: _variables(each) if key == "env" and isinstance(each, list) else _walk(each) for key, each in value.items()}


def _variables(env: list[Any]) -> list[Any]:
    return [_variable(each) if isinstance(each, dict) else each for each in env]


def _variable(variable: dict[str, Any]) -> dict[str, Any]:
    """References to Secrets stay: they are not resolved."""
    value = variable.get("value")
    if not isinstance(value, str) or not value:
        return variable
    return {**variable, "value": REDACTED if is_secret(str(variable.get("name"))) else _USER_INFO.sub(REDACTED, value)}

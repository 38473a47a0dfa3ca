"""Values of the chart for the recorder, with their effects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.install.helm import Object

Objects = dict[tuple[str, str], Object]
NAME = "traincrew-recorder"
ON = "recorder.enabled=true"
POSTGRES = f"{ON},recorder.postgres.secret=db"


def pod(found: Objects) -> Object:
    spec: Object = found["Deployment", NAME]["spec"]["template"]["spec"]
    return spec


def container(found: Objects) -> Object:
    (only,) = pod(found)["containers"]
    return dict(only)


def claim(found: Objects) -> Object:
    spec: Object = found["PersistentVolumeClaim", NAME]["spec"]
    return spec


def _flag(value: str) -> Callable[[Objects], bool]:
    return lambda found: value in container(found)["args"]


def _secret(found: Objects) -> Object:
    reference: Object = container(found)["env"][0]["valueFrom"]["secretKeyRef"]
    return reference


def _console_secret(found: Objects) -> str:
    spec = found["Deployment", "traincrew-console"]["spec"]["template"]["spec"]
    return str(spec["containers"][0]["env"][0]["valueFrom"]["secretKeyRef"]["name"])


def _last_port(found: Objects) -> int:
    return int(found["NetworkPolicy", NAME]["spec"]["egress"][0]["ports"][-1]["port"])


EFFECTS: dict[str, tuple[Any, str, Callable[[Objects], Any], Any]] = {
    "recorder.postgres.secret": ("other", ON, lambda found: _secret(found)["name"], "other"),
    "recorder.postgres.consoleSecret": ("reader", f"{POSTGRES},console.enabled=true", _console_secret, "reader"),
    "recorder.postgres.key": ("uri", POSTGRES, lambda found: _secret(found)["key"], "uri"),
    "recorder.postgres.port": (6432, POSTGRES, _last_port, 6432),
    "recorder.persistence.size": ("1Gi", ON, lambda found: claim(found)["resources"]["requests"]["storage"], "1Gi"),
    "recorder.persistence.storageClass": ("fast", ON, lambda found: claim(found)["storageClassName"], "fast"),
    "recorder.persistence.existingClaim": (
        "mine", ON, lambda found: pod(found)["volumes"][0]["persistentVolumeClaim"]["claimName"], "mine",
    ),
    "recorder.maxAgeDays": (7, ON, _flag("--max-age=7"), True),
    "recorder.maxSize": ("2Gi", ON, _flag("--max-size=2Gi"), True),
    "recorder.maxLogSize": ("2Mi", ON, _flag("--max-log-size=2Mi"), True),
    "recorder.extraArgs": (["--log-level=debug"], ON, lambda found: container(found)["args"][-1], "--log-level=debug"),
    "recorder.resources.requests.cpu": ("2", ON, lambda found: container(found)["resources"]["requests"]["cpu"], "2"),
    "recorder.resources.requests.memory": (
        "2Gi", ON, lambda found: container(found)["resources"]["requests"]["memory"], "2Gi",
    ),
    "recorder.resources.limits.memory": ("2Gi", ON, lambda found: container(found)["resources"]["limits"]["memory"], "2Gi"),
    "recorder.networkPolicy.enabled": (False, ON, lambda found: ("NetworkPolicy", NAME) in found, False),
}  # fmt: skip

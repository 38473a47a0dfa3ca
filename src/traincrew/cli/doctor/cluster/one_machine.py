"""Recognizes the cluster of `traincrew up`, which runs the operator and the DNS server itself."""

from __future__ import annotations

import msgspec

from traincrew import errors
from traincrew.cli.doctor.check_result import CheckResult, ok
from traincrew.client import interfaces
from traincrew.embedded.mirror_pod import NAMESPACE, POD
from traincrew.model import resources

MIRROR = "kubernetes.io/config.mirror"


async def has_operator(reader: interfaces.Reader) -> bool:
    """Whether the mirror pod of an operator inside `traincrew up` is running."""
    try:
        pod = msgspec.json.decode(await reader.get(resources.PODS, NAMESPACE, POD))
    except errors.ApiError:
        return False
    return MIRROR in (pod["metadata"].get("annotations") or {}) and pod["status"].get("phase") == "Running"


def operator() -> CheckResult:
    return ok("operator", f"runs inside `traincrew up` (mirror pod {NAMESPACE}/{POD})")


def name_service() -> CheckResult:
    return ok("dns", "`traincrew up` answers the names of pods and services")

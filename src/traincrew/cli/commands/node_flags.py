"""How this machine runs pods: the flags of `up` and `node`, and what they mean."""

from __future__ import annotations

from typing import Any

import click

from traincrew import errors, settings

LEVELS = ("auto", "root", "user", "none")
SHARED = ("cpu", "memory", "none")
"""What pods may be allowed to ask for more of than there is. Devices are never shared."""


def options(command: Any) -> Any:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


_OPTIONS = (
    click.option(
        "--isolation", type=click.Choice(LEVELS), default="auto", show_default=True,
        help="Isolation of pods: root namespaces, user namespaces or none. auto selects the best available level.",
    ),
    click.option(
        "--device", "devices", multiple=True, metavar="NAME=COUNT",
        help="Declare devices, such as nvidia.com/gpu=4. May be repeated. NVIDIA GPUs are detected automatically.",
    ),
    click.option("--driver-root", metavar="DIR", default="/", hidden=True, help="Root directory of the driver's /proc and /dev."),
    click.option(
        "--pod-pids", type=click.IntRange(min=0), default=settings.Node.pod_pids, show_default=True, metavar="NUMBER",
        help="Maximum number of processes and threads per pod. 0 disables the limit.",
    ),
    click.option(
        "--log-days", type=click.FloatRange(min=0), default=settings.Logs.days, show_default=True, metavar="DAYS",
        help="Number of days to keep the logs of deleted pods.",
    ),
    click.option(
        "--log-bytes", default="1Gi", show_default=True, metavar="SIZE",
        help="Maximum size of the logs of deleted pods. The oldest logs are removed first.",
    ),
    click.option("--strict-images", is_flag=True, help="Reject images that have no mapping (see `traincrew image`)."),
)  # fmt: skip


def node(flags: dict[str, Any], name: str = settings.Node.name) -> settings.Node:
    """Raises SettingsError."""
    return settings.Node(
        name=name,
        isolation="" if flags["isolation"] == "auto" else flags["isolation"],
        devices=dict(device(each) for each in flags["devices"]),
        driver_root=flags["driver_root"],
        strict_images=flags["strict_images"],
        pod_pids=flags["pod_pids"],
        logs=settings.Logs(days=flags["log_days"], total_bytes=size(flags["log_bytes"])),
    )


def device(text: str) -> tuple[str, int]:
    name, _, count = text.partition("=")
    if "/" not in name or not count.isdecimal():
        raise errors.SettingsError(f"invalid --device {text!r}: expected NAME=COUNT, such as nvidia.com/gpu=4")
    return name, int(count)


def size(text: str) -> int:
    from traincrew.apimachinery import quantities

    try:
        found = quantities.value(text)
    except ValueError:
        found = -1
    if found < 0:
        raise errors.SettingsError(f"invalid --log-bytes {text!r}: expected a size such as 500Mi or 2Gi")
    return found

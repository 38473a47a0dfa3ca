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
        help="How pods are kept apart: root's namespaces, a user namespace, or not at all. auto: the best that works here.",
    ),
    click.option(
        "--device", "devices", multiple=True, metavar="NAME=COUNT",
        help="Declare devices, such as nvidia.com/gpu=4; may be repeated. NVIDIA's GPUs are found without.",
    ),
    click.option("--driver-root", metavar="DIR", default="/", hidden=True, help="Where a driver has its /proc and /dev."),
    click.option(
        "--pod-pids", type=click.IntRange(min=0), default=settings.Node.pod_pids, show_default=True, metavar="NUMBER",
        help="Most processes and threads of a pod; 0: no limit.",
    ),
    click.option(
        "--log-days", type=click.FloatRange(min=0), default=settings.Logs.days, show_default=True, metavar="DAYS",
        help="How long logs of pods that are gone are kept.",
    ),
    click.option(
        "--log-bytes", default="1Gi", show_default=True, metavar="SIZE", help="How much of them is kept; the oldest go first."
    ),
    click.option("--strict-images", is_flag=True, help="Refuse images that have no environment (see `traincrew image`)."),
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
        raise errors.SettingsError(f"--device {text!r} is not NAME=COUNT, such as nvidia.com/gpu=4")
    return name, int(count)


def size(text: str) -> int:
    from traincrew.apimachinery import quantities

    try:
        found = quantities.value(text)
    except ValueError:
        found = -1
    if found < 0:
        raise errors.SettingsError(f"--log-bytes {text!r} is not a size such as 500Mi or 2Gi")
    return found

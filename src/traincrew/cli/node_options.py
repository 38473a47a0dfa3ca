"""Options of `up` and `node` that say how this machine runs pods, and of the log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from traincrew import errors, settings
from traincrew.cli import size_arguments
from traincrew.cli.decimal_number import DecimalNumber
from traincrew.cli.option_group import add_options
from traincrew.cli.whole_number import WholeNumber

ISOLATION_LEVELS = ("auto", "root", "user", "none")
OVERCOMMIT = ("cpu", "memory", "none")
"""Values of --overcommit. Devices cannot be overcommitted."""


options = add_options((
    click.option(
        "--isolation", type=click.Choice(ISOLATION_LEVELS), default="auto", show_default=True,
        help="Isolation of pods: root namespaces, user namespaces or none. auto selects the best available level.",
    ),
    click.option(
        "--device", "devices", multiple=True, metavar="NAME=COUNT",
        help="Declare devices, such as nvidia.com/gpu=4. May be repeated. NVIDIA GPUs are detected automatically.",
    ),
    click.option("--driver-root", metavar="DIR", default="/", hidden=True, help="Root directory of the driver's /proc and /dev."),
    click.option(
        "--pod-pids", type=WholeNumber(min=0), default=settings.Node.pod_pids, show_default=True, metavar="NUMBER",
        help="Maximum number of processes and threads per pod. 0 disables the limit.",
    ),
    click.option(
        "--allowed-unsafe-sysctls", multiple=True, metavar="NAMES",
        help="Allow pods to set these sysctls besides the safe ones, such as net.core.somaxconn,kernel.shm*. May be repeated.",
    ),
    click.option(
        "--log-days", type=DecimalNumber(min=0), default=f"{settings.Logs.days:g}", show_default=True, metavar="DAYS",
        help="Number of days to keep the logs of deleted pods.",
    ),
    click.option(
        "--log-bytes", default=size_arguments.text(settings.Logs.total_bytes), show_default=True, metavar="SIZE",
        help="Maximum size of the logs of deleted pods. The oldest logs are removed first.",
    ),
    click.option("--strict-images", is_flag=True, help="Reject images that have no mapping (see `traincrew image`)."),
))  # fmt: skip


LOG_OPTIONS = (
    click.option("--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Log format."),
    click.option(
        "--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", show_default=True,
        help="Log level.",
    ),
)  # fmt: skip
log_options = add_options(LOG_OPTIONS)


def node(flags: dict[str, Any], name: str = settings.Node.name) -> settings.Node:
    """The settings of the node. Raise SettingsError for invalid values."""
    return settings.Node(
        name=name,
        isolation="" if flags["isolation"] == "auto" else flags["isolation"],
        devices=dict(parse_device(each) for each in flags["devices"]),
        driver_root=flags["driver_root"],
        strict_images=flags["strict_images"],
        pod_pids=flags["pod_pids"],
        allowed_unsafe_sysctls=parse_sysctls(flags["allowed_unsafe_sysctls"]),
        logs=settings.Logs(days=flags["log_days"], total_bytes=size_arguments.parse("--log-bytes", flags["log_bytes"])),
    )


def parse_device(text: str) -> tuple[str, int]:
    name, _, count = text.partition("=")
    if "/" not in name or not count.isdecimal():
        raise errors.SettingsError(f"invalid --device {text!r}: expected NAME=COUNT, such as nvidia.com/gpu=4")
    return name, int(count)


def parse_sysctls(texts: Sequence[str]) -> tuple[str, ...]:
    from traincrew.embedded.kubelet.lifecycle import sysctl_admission

    if not texts:
        return ()
    patterns = tuple(pattern.strip() for text in texts for pattern in text.split(","))
    try:
        sysctl_admission.SysctlAllowlist.with_unsafe(patterns)
    except sysctl_admission.InvalidPattern as error:
        raise errors.SettingsError(f"invalid --allowed-unsafe-sysctls: {error}") from None
    return patterns

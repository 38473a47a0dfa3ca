"""The options of the operator about elastic jobs that use idle capacity."""

from __future__ import annotations

import dataclasses

import click

from traincrew import errors, settings
from traincrew.apimachinery import quantities
from traincrew.cli.option_group import option_group
from traincrew.scheduling import resource_requests


@dataclasses.dataclass(frozen=True)
class SharingOptions:
    headroom: str
    settle: float
    resize_budget: float
    notice_taints: str


_OPTIONS = (
    click.option(
        "--headroom",
        default="",
        metavar="LIST",
        help="Keep these amounts free of workers on idle capacity, such as nvidia.com/gpu=2,cpu=5%. Default: nothing.",
    ),
    click.option(
        "--settle",
        type=click.FloatRange(0, 86400),
        default=settings.Sharing.settle,
        show_default=True,
        metavar="SECONDS",
        help="Let elastic jobs grow into capacity that has been idle for this time.",
    ),
    click.option(
        "--resize-budget",
        type=click.FloatRange(0.001, 1),
        default=settings.Sharing.resize_budget,
        show_default=True,
        metavar="PART",
        help="The part of its running time that an elastic job may spend on growth.",
    ),
    click.option(
        "--notice-taints",
        default="",
        metavar="LIST",
        help="Keys of taints by which nodes announce their end, in place of those of the cloud providers and autoscalers.",
    ),
)

options = option_group("sharing_options", SharingOptions, _OPTIONS)


def parse(given: SharingOptions) -> settings.Sharing:
    amounts, parts = dict[str, int](), dict[str, float]()
    for entry in filter(None, (part.strip() for part in given.headroom.split(","))):
        name, _, text = entry.partition("=")
        if text.endswith("%") and _is_percentage(text[:-1]):
            parts[name] = float(text[:-1]) / 100
        elif name and quantities.is_quantity(text) and (amount := resource_requests.amount(name, text)) >= 0:
            amounts[name] = amount
        else:
            expected = "RESOURCE=QUANTITY or RESOURCE=PERCENT%, such as nvidia.com/gpu=2 or cpu=5%"
            raise errors.SettingsError(f"invalid --headroom {entry!r}: expected {expected}")
    taints = tuple(key.strip() for key in given.notice_taints.split(",") if key.strip())
    return settings.Sharing(amounts, parts, given.settle, given.resize_budget, taints)


def _is_percentage(text: str) -> bool:
    try:
        return 0 <= float(text) <= 100
    except ValueError:
        return False

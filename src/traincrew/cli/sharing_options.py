"""The options of `operator` and `up` about elastic jobs that use idle capacity."""

from __future__ import annotations

import dataclasses

import click

from traincrew import errors, settings
from traincrew.cli import duration
from traincrew.cli.decimal_number import DecimalNumber
from traincrew.cli.option_group import option_group


@dataclasses.dataclass(frozen=True)
class SharingOptions:
    headroom: str
    settle: float
    resize_budget: float
    notice_taints: str
    scaling_default: str
    autoscaled: str
    pin_surplus: bool


_OPTIONS = (
    click.option(
        "--headroom",
        default="",
        metavar="LIST",
        help="Resources that workers on idle capacity must leave unused, such as nvidia.com/gpu=2,cpu=5%. Default: none.",
    ),
    click.option(
        "--settle",
        type=duration.Duration(maximum=86400),
        default=duration.text(settings.Sharing.settle),
        show_default=True,
        metavar="DURATION",
        help="Scale elastic jobs up into capacity that has been idle for this time.",
    ),
    click.option(
        "--resize-budget",
        type=DecimalNumber(0.001, 1),
        default=settings.Sharing.resize_budget,
        show_default=True,
        metavar="FRACTION",
        help="Fraction of its running time that an elastic job may spend on scaling up.",
    ),
    click.option(
        "--notice-taints",
        default="",
        metavar="LIST",
        help="Keys of taints that announce the termination of a node, in place of those of known clouds and autoscalers. "
        "Workers leave nodes that do not respond in any case.",
    ),
    click.option(
        "--scaling-default",
        type=click.Choice(settings.SCALING_MODES),
        default=settings.Sharing.scaling_default,
        show_default=True,
        help="How elastic jobs without the annotation traincrew.kubeflow.org/scaling are scaled.",
    ),
    click.option(
        "--autoscaled",
        type=click.Choice(settings.AUTOSCALED_NODES),
        default=settings.Sharing.autoscaled,
        show_default=True,
        help="Nodes whose scale-down workers on idle capacity must not prevent. auto: nodes that Karpenter has labelled.",
    ),
    click.option(
        "--pin-surplus",
        is_flag=True,
        help="Let workers on idle capacity run only on the node that was free, so that Karpenter adds no node for them.",
    ),
)

options = option_group("sharing_options", SharingOptions, _OPTIONS)


def parse(given: SharingOptions) -> settings.Sharing:
    amounts, parts = dict[str, int](), dict[str, float]()
    if given.headroom:
        from traincrew.apimachinery import quantities
        from traincrew.scheduling import resource_requests
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
    return settings.Sharing(
        headroom=amounts,
        headroom_fractions=parts,
        settle=given.settle,
        resize_budget=given.resize_budget,
        notice_taints=taints,
        scaling_default=given.scaling_default,
        autoscaled=given.autoscaled,
        pin_surplus=given.pin_surplus,
    )


def _is_percentage(text: str) -> bool:
    try:
        return 0 <= float(text) <= 100
    except ValueError:
        return False

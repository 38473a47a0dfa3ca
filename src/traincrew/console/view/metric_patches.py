"""The new points of series that a page has already."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from traincrew.console.contract.metrics import OutputSeries, UsageSeries
from traincrew.console.view.points import Counted

Seen = dict[tuple[str, str], tuple[int, int]]
"""By replica and pod or name: how many points the page has, and how often they were thinned out."""
AnySeries = Counted[UsageSeries] | Counted[OutputSeries]
S = TypeVar("S", UsageSeries, OutputSeries)


def seen(counted: Iterable[AnySeries]) -> Seen:
    return {_key(each.series): (len(each.series.times), each.thinned) for each in counted}


def is_continued(before: Seen, counted: Iterable[AnySeries]) -> bool:
    """Whether the page can append: no series that it has was thinned out."""
    return all(each.thinned == before.get(_key(each.series), (0, each.thinned))[1] for each in counted)


def new_points(before: Seen, counted: Iterable[Counted[S]]) -> list[S]:
    """Series with new points, and these alone."""
    found = []
    for each in counted:
        known = before.get(_key(each.series), (0, 0))[0]
        if len(each.series.times) > known:
            found.append(_from(each.series, known))
    return found


def _key(series: UsageSeries | OutputSeries) -> tuple[str, str]:
    return series.replica, f"name {series.name}" if isinstance(series, OutputSeries) else f"pod {series.pod}"


def _from(series: S, first: int) -> S:
    columns = {name: value[first:] for name in series.__struct_fields__ if isinstance(value := getattr(series, name), list)}
    return msgspec.structs.replace(series, **columns)

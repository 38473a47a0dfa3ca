"""Parses query parameters as Kubernetes does."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping

from traincrew.apimachinery import times

_NUMBER = re.compile(r"[+-]?[0-9]+")
_LARGEST = 2**63


class BadQuery(ValueError):
    """With Kubernetes' message."""


def flag(query: Mapping[str, str], name: str) -> bool:
    """Every value but 0 and false is true, also an empty one: `?follow`."""
    value = query.get(name)
    return value is not None and value != "0" and value.lower() != "false"


def number(query: Mapping[str, str], name: str) -> int | None:
    text = query.get(name)
    if text is None:
        return None
    if not _NUMBER.fullmatch(text):
        raise BadQuery(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    value = int(text)
    if not -_LARGEST <= value < _LARGEST:
        raise BadQuery(f'strconv.ParseInt: parsing "{text}": value out of range')
    return value


def time(query: Mapping[str, str], name: str) -> datetime.datetime | None:
    text = query.get(name)
    if not text or text == "null":
        return None
    try:
        return times.parse(text)
    except times.TimeError as error:
        raise BadQuery(str(error)) from error

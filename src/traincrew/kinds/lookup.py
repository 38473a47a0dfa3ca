"""Kinds by the names that users write."""

from __future__ import annotations

from traincrew.apimachinery import suggestions
from traincrew.kinds import KINDS
from traincrew.kinds.kind import JobKind


def find(name: str) -> JobKind | None:
    """By any of the names that kubectl accepts, with or without the group, or by the framework."""
    plain = name.lower().partition(".")[0]
    return next((each for each in KINDS if plain in (each.singular, each.plural, *each.crd.short_names, each.framework)), None)


def unknown_kind(name: str) -> str:
    """The message about a name that no kind has."""
    known = [kind.kind for kind in KINDS]
    suggestion = suggestions.did_you_mean(name, known)
    return f"unknown kind {name!r}{suggestion or '. Known kinds: ' + ', '.join(known)}"

"""Our own writes while they are under way, to tell them from the news of others."""

from __future__ import annotations

import dataclasses
from typing import Generic, TypeVar

from traincrew.model import meta

T = TypeVar("T", bound=meta.Named)


@dataclasses.dataclass(frozen=True)
class News(Generic[T]):
    old: T | None
    new: T | None
    listed: bool


class Write(Generic[T]):
    """Writes of ours to one object that are under way, and what the watch has told of it meanwhile."""

    def __init__(self) -> None:
        self.under_way = 0
        self.news: list[News[T]] = []
        self.answers: set[tuple[str, str]] = set()
        """uid and version of what we were answered; without a version: that it is gone."""

    def caused(self, news: News[T]) -> bool:
        if news.new is None:
            return news.old is not None and (news.old.metadata.uid, "") in self.answers
        if news.listed or news.new is news.old:
            return False
        return (news.new.metadata.uid, news.new.metadata.resource_version) in self.answers

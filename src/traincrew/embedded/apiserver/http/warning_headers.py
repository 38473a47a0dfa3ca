"""Warning headers of a response, limited as by kube-apiserver: four kilobytes of text in all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

MAX_TOTAL = 4 * 1024
"""Characters of all warnings."""
MAX_TRUNCATED = 256
"""Characters of each warning, if they exceed the total."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def values(warnings: Iterable[str]) -> list[str]:
    """The values of the headers. If the texts are too long, all are truncated, and the last ones are omitted."""
    texts = list(dict.fromkeys(text for text in warnings if text))
    if sum(map(len, texts)) > MAX_TOTAL:
        texts = list(_truncated(texts))
    return [f'299 - "{_quoted(text)}"' for text in texts]


def _truncated(texts: Iterable[str]) -> Iterator[str]:
    written = 0
    for text in texts:
        if written >= MAX_TOTAL:
            return
        written += len(text[:MAX_TRUNCATED])
        yield text[:MAX_TRUNCATED]


def _quoted(text: str) -> str:
    return _CONTROL.sub(" ", text).replace("\\", "\\\\").replace('"', '\\"')

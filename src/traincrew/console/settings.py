"""The settings of a console."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class ConsoleTarget:
    """The cluster, as the page shows it."""

    server: str
    namespace: str
    context: str = ""
    embedded: bool = False
    """The cluster of this machine that `traincrew up` runs."""
    log_root: str = ""
    """The logs of its pods, if it runs on this machine. Empty: it runs elsewhere."""

"""A setting of one kind, given to the operator as a flag."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Option:
    flag: str
    default: str
    help: str
    is_file: bool = False
    """The value is a file name. The kind receives the text of the file, or nothing if the file cannot be read."""
    former_flag: str = ""
    """An older name of the flag, which is still accepted."""

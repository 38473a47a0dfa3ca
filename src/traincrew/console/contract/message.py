"""What all messages share: camelCase names, and every field of a response is present."""

from __future__ import annotations

from typing import dataclass_transform

import msgspec


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Message(msgspec.Struct, rename="camel", kw_only=True, frozen=True):
    """A part of a response. Fields with defaults are sent, too: null and empty values are explicit."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Request(msgspec.Struct, rename="camel", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """The body of a request. Fields with defaults may be absent; unknown fields are errors."""

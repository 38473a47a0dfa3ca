"""Which workers each elastic job has: one decision for all of them, from the state of the whole cluster. Pure."""

from traincrew.sharing.share import share

__all__ = ["share"]

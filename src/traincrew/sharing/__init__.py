"""Which workers each elastic job has: one decision for all of them, from the state of the whole cluster. Pure."""

from traincrew.sharing.decision import allocate

__all__ = ["allocate"]

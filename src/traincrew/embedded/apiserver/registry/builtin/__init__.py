"""The strategies of the built-in kinds: the rules of kube-apiserver beyond the schemas."""

from traincrew.embedded.apiserver.registry.builtin.strategy import Strategy, custom
from traincrew.embedded.apiserver.registry.builtin.strategy_table import strategy
from traincrew.embedded.apiserver.registry.builtin.write_context import WriteContext

__all__ = ["Strategy", "WriteContext", "custom", "strategy"]

"""The built-in kinds: what kube-apiserver's code does to their objects beyond what their schemas say.

`strategy(group, kind)` has the rules of a kind. `quota`, `limits` and `podsecurity` are the admission plugins of those names.
"""

from traincrew.embedded.apiserver.registry.builtin.strategy import Strategy, custom
from traincrew.embedded.apiserver.registry.builtin.strategy_table import strategy
from traincrew.embedded.apiserver.registry.builtin.write_context import WriteContext

__all__ = ["Strategy", "WriteContext", "custom", "strategy"]

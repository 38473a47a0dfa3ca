"""The built-in kinds: what kube-apiserver's code does to their objects beyond what their schemas say.

`strategy(group, kind)` has the rules of a kind. `quota`, `limits` and `podsecurity` are the admission plugins of those names.
"""

from traincrew.embedded.builtin.context import Context
from traincrew.embedded.builtin.registry import strategy
from traincrew.embedded.builtin.strategy import Strategy, custom

__all__ = ["Context", "Strategy", "custom", "strategy"]

"""An image is not pulled: its name stands for an environment of this machine."""

from __future__ import annotations

from traincrew.embedded.kubelet.images.environment import Environment, NoEnvironment
from traincrew.embedded.kubelet.images.init_containers import role_of
from traincrew.embedded.kubelet.images.resolver import Images

__all__ = ["Environment", "Images", "NoEnvironment", "role_of"]

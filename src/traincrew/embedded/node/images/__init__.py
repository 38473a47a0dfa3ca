"""An image is not pulled: its name stands for an environment of this machine."""

from __future__ import annotations

from traincrew.embedded.node.images.composing import Composed, compose
from traincrew.embedded.node.images.environment import Environment, NoEnvironment
from traincrew.embedded.node.images.resolving import Images
from traincrew.embedded.node.images.roles import role_of

__all__ = ["Composed", "Environment", "Images", "NoEnvironment", "compose", "role_of"]

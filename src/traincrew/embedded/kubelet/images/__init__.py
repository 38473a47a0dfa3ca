"""Images. No image is pulled: an image name maps to an environment of this machine."""

from __future__ import annotations

from traincrew.embedded.kubelet.images.environment import Environment, EnvironmentNotFound
from traincrew.embedded.kubelet.images.resolver import ImageResolver
from traincrew.embedded.kubelet.images.tool_containers import tool_role

__all__ = [
    "Environment",
    "EnvironmentNotFound",
    "ImageResolver",
    "tool_role",
]

"""Kubernetes objects without types of their own."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]
"""A Kubernetes object as decoded JSON."""

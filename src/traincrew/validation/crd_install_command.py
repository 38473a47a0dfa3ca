"""The command that messages and pages name. A module of its own: most of those who name it need nothing else of the CRDs."""

from __future__ import annotations

INSTALL = "traincrew manifests crds | kubectl apply --server-side --force-conflicts -f -"
"""Installs the CRDs of this version, and updates those of another version or of a Go operator."""

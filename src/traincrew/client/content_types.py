"""Content types of requests."""

from __future__ import annotations

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
SENT = (JSON, MERGE_PATCH, JSON_PATCH, STRATEGIC_PATCH)

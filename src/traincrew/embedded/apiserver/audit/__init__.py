"""The audit log, and what of a request may be logged."""

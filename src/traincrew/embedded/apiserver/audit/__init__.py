"""The audit log, and redaction of credentials."""

"""Authentication: client certificates, bearer tokens, service account tokens, impersonation."""

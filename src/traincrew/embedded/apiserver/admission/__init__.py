"""Admission: what the namespace, its quotas, limit ranges, service accounts and pod security say to a write."""

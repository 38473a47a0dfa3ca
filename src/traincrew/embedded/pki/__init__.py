"""The cluster's certificate authority and the certificates that it signs."""

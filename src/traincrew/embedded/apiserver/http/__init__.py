"""The HTTPS server and its filters: origins, authentication, audit, the encoding of responses."""

"""The API server: HTTP, authentication, authorization, admission, registry, storage."""

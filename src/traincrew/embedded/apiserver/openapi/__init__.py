"""OpenAPI documents: version 3 per group version, and the part of version 2 that older clients request."""

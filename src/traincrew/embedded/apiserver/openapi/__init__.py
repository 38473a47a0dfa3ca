"""OpenAPI documents: version 3 per group version, and the little of version 2 that older clients ask for."""

"""What the API server tells about itself, and how it prints objects: discovery, OpenAPI, tables, partial metadata."""

"""Jobs, replicas and logs as the page shows them, computed from objects of the API. Pure."""

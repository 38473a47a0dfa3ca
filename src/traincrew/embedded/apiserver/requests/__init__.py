"""A request as the handlers see it, and the scope that they work in."""

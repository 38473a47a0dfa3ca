"""The Node object: machine, conditions, registration, Lease."""

"""The Node object: its status, its conditions and its lease."""

"""Environment variables of containers."""

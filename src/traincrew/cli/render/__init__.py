"""Renders jobs, clusters and reports as text. Pure."""

"""A container's root file system."""
